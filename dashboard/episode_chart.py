"""An episode of herding as a picture: requests on each card of the pool, and who stood by. Pure."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from analytics.episode import Episode
from dashboard import words
from dashboard.axes import dress, inline, lane_axes
from dashboard.palette import Palette, fixed
from dashboard.request_charts import phase_colours, phase_rows, second

LANE_PX, THINNEST_PX, CARD_PX, GAP_PX = 14.0, 3.0, 220.0, 14.0


def gantt(
    told: Episode, names: Mapping[str, str], zone: dt.tzinfo, colours: Palette
) -> alt.LayerChart:
    """Per card its requests over time, those that waited strong; behind them, where the card stood
    by, the colour of `stranded`. The x axis are seconds since the episode began."""
    origin = told.span[0]
    lane_px, blocks = blocks_of(told)
    height = blocks[-1]["foot"] if blocks else LANE_PX
    ticks = {(b["top"] + b["foot"]) / 2: names.get(b["card"], b["card"]) for b in blocks}
    span = [(at - origin) / words.NANO for at in told.window]
    title = f"seconds since it began at {second(origin, zone)}"
    look = {"labelFontSize": 13, "labelColor": colours.text}
    x, y = lane_axes(span, title, height, ticks, colours, **look)
    tops = {block["card"]: block["top"] for block in blocks}
    rows = phase_rows(told.bars, told.window, origin, tops, (lane_px, lane_px * 0.75))
    layers = [
        *_grounds(blocks, span, x, y, colours),
        _stood_by(stood_rows(told, blocks), names, x, y, colours),
        *_bars(rows, x, y, colours),
    ]
    return dress(layers, colours, round(height) + 48)


def blocks_of(told: Episode) -> tuple[float, list[dict[str, Any]]]:
    """The height of a lane, and where each card's lanes lie, in pixels from the top."""
    lanes = {card: _lanes(told, card) for card in told.cards}
    lane_px = max(THINNEST_PX, min(LANE_PX, CARD_PX / max([*lanes.values(), 1])))
    top, blocks = 2.0, []
    for card, number in lanes.items():
        foot = top + max(2, number) * lane_px
        blocks.append({"card": card, "top": top, "foot": foot})
        top = foot + GAP_PX
    return lane_px, blocks


def _lanes(told: Episode, card: str) -> int:
    highest = told.bars.filter(card=card)["lane"].max()
    return 1 + highest if isinstance(highest, int) else 0


def stood_rows(told: Episode, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Where cards stood by, cut at the window."""
    places = {block["card"]: block for block in blocks}
    origin, (low, high) = told.span[0], told.window
    return [
        {
            "card": card,
            "from": (max(start, low) - origin) / words.NANO,
            "to": (min(end, high) - origin) / words.NANO,
            "top": places[card]["top"] - 2,
            "foot": places[card]["foot"] + 2,
            "time": words.span(end - start),
        }
        for card, start, end in told.stood_by.iter_rows()
    ]


def _grounds(
    blocks: list[dict[str, Any]], span: list[float], x: alt.X, y: alt.Y, colours: Palette
) -> Iterator[Any]:
    rows = [{"from": span[0], "to": span[1], "top": block["foot"] + 2} for block in blocks]
    yield alt.Chart(inline(rows)).mark_rule(color=colours.line).encode(x=x, x2="to:Q", y=y)


def _stood_by(
    rows: list[dict[str, Any]], names: Mapping[str, str], x: alt.X, y: alt.Y, colours: Palette
) -> Any:
    told = [row | {"name": names.get(row["card"], row["card"])} for row in rows]
    tooltip = [alt.Tooltip("name:N", title="stood by"), alt.Tooltip("time:N", title="for")]
    return (
        alt.Chart(inline(told))
        .mark_rect(color=colours.states["stranded"], opacity=0.3)
        .encode(x=x, x2="to:Q", y=y, y2="foot:Q", tooltip=tooltip)
    )


def _bars(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colours: Palette) -> Iterator[Any]:
    tooltip = [
        alt.Tooltip("who:N", title="request of"),
        alt.Tooltip("phase:N", title="phase"),
        alt.Tooltip("time:N", title="took"),
        alt.Tooltip("from:Q", title="from, s", format=".1f"),
        alt.Tooltip("to:Q", title="to, s", format=".1f"),
    ]
    shade = alt.Color("phase:N", scale=fixed(phase_colours(colours)), legend=None)
    for waited, opacity in ((False, 0.55), (True, 1.0)):
        yield (
            alt.Chart(inline([row for row in rows if row["is_it"] == waited]))
            .mark_rect(opacity=opacity)
            .encode(x=x, x2="to:Q", y=y, y2="foot:Q", color=shade, tooltip=tooltip)
        )
