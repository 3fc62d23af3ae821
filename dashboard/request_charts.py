"""One request on its cards' time line, with its neighbours and the watts. Pure, as `charts`."""

import datetime as dt
from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt
import polars as pl

from analytics.one_request import Opened
from dashboard import words
from dashboard.axes import dress, inline, lane_axes
from dashboard.palette import Palette, fixed, hatched

LANE_PX, BAR_PX, WATTS_PX, GAP_PX = 17, 12, 72, 16
PHASES = {
    "waiting": ("start_ns", "compute_ns"),
    "prefill": ("compute_ns", "split_ns"),
    "output": ("split_ns", "end_ns"),
}


def phase_colours(colours: Palette) -> dict[str, str]:
    """What a bar is made of, in the order of time."""
    return {
        "waiting": colours.states["idle"],
        "prefill": colours.below_peak,
        "output": colours.states["busy"],
        "computing, first token untold": colours.unassigned,
    }


def timeline(
    found: Opened, names: Mapping[str, str], zone: dt.tzinfo, colours: Palette
) -> alt.LayerChart:
    """Per card a block of bars (the request strong, its neighbours pale) over a block of watts.

    The x axis are seconds since the request arrived; power that is not known is hatched.
    """
    origin = found.attempt["received_ns"]
    blocks = list(blocks_of(found))
    height = blocks[-1]["foot"] if blocks else LANE_PX
    ticks = dict(_ticks(blocks, names, found.watts))
    span = [(at - origin) / words.NANO for at in found.window]
    title = f"seconds since it arrived at {second(origin, zone)}"
    x, y = lane_axes(span, title, height, ticks, colours)
    bars = bar_rows(found, blocks)
    watts = watt_rows(found, blocks)
    layers = [
        *_grounds(blocks, span, x, y, colours),
        *_watts([row for row in watts if row["watts"] is not None], x, y, colours),
        _unknown([row for row in watts if row["watts"] is None], x, y, colours),
        *_bars(bars, x, y, colours),
    ]
    return dress(layers, colours, height + 48)


def blocks_of(found: Opened) -> Iterator[dict[str, Any]]:
    """Where each card's bars and watts lie, in pixels from the top."""
    top = 4
    for card in found.attempt["cards"]:
        lanes = found.bars.filter(card=card)["lane"].max()
        bars = LANE_PX * (1 + (lanes if isinstance(lanes, int) else 0))
        known = found.watts.filter(card=card)["mw"].max()
        most = known if isinstance(known, int) and known > 0 else None
        foot = top + bars + GAP_PX + WATTS_PX
        yield {"card": card, "top": top, "bars": bars, "foot": foot, "most_mw": most}
        top = foot + GAP_PX


def _ticks(
    blocks: list[dict[str, Any]], names: Mapping[str, str], watts: pl.DataFrame
) -> Iterator[tuple[float, str]]:
    for block in blocks:
        yield block["top"] + block["bars"] / 2, names.get(block["card"], block["card"])
        if watts.filter(card=block["card"]).is_empty():
            continue
        yield float(block["foot"]), "0 W"
        if block["most_mw"] is not None:
            yield block["foot"] - WATTS_PX, f"{block['most_mw'] / 1000:,.0f} W"


def bar_rows(found: Opened, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn bars: one row per attempt, card and phase of any length."""
    tops = {block["card"]: block["top"] for block in blocks}
    origin = found.attempt["received_ns"]
    rows = phase_rows(found.bars, found.window, origin, tops, (LANE_PX, BAR_PX))
    return [row | {"who": "this request" if row["is_it"] else row["who"]} for row in rows]


def phase_rows(
    bars: pl.DataFrame,
    window: tuple[int, int],
    origin: int,
    tops: Mapping[str, float],
    lane_px: tuple[float, float],
) -> list[dict[str, Any]]:
    """Bars cut at a window and into phases, in seconds since `origin`; `lane_px` are the heights of
    a lane and of the bar on it."""
    rows = []
    for bar in bars.iter_rows(named=True):
        top = tops[bar["card"]] + lane_px[0] * bar["lane"]
        for phase, (start, end) in PHASES.items():
            begin, until = (min(max(bar[at], window[0]), window[1]) for at in (start, end))
            if begin >= until:
                continue
            untold = phase == "prefill" and bar["first_kind"] == "unsplit"
            rows.append(
                {
                    "phase": "computing, first token untold" if untold else phase,
                    "from": (begin - origin) / words.NANO,
                    "to": (until - origin) / words.NANO,
                    "top": top,
                    "foot": top + lane_px[1],
                    "is_it": bar["is_it"],
                    "who": bar["session"] or bar["event_id"],
                    "time": short(bar[end] - bar[start]),
                }
            )
    return rows


def watt_rows(found: Opened, blocks: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn stretches between two readings; unknown power has `watts` None."""
    places = {block["card"]: block for block in blocks}
    origin = found.attempt["received_ns"]
    rows = []
    for each in found.watts.iter_rows(named=True):
        block, mw = places[each["card"]], each["mw"]
        share = 1.0 if mw is None else mw / (block["most_mw"] or 1)
        rows.append(
            {
                "from": (max(each["from_ns"], found.window[0]) - origin) / words.NANO,
                "to": (min(each["to_ns"], found.window[1]) - origin) / words.NANO,
                "top": block["foot"] - WATTS_PX * share,
                "foot": block["foot"],
                "watts": None if mw is None else mw / 1000,
                "text": words.UNKNOWN if mw is None else f"{mw / 1000:,.0f} W",
            }
        )
    return rows


def _grounds(
    blocks: list[dict[str, Any]], span: list[float], x: alt.X, y: alt.Y, colours: Palette
) -> Iterator[Any]:
    rows = [{"from": span[0], "to": span[1], "top": block["foot"]} for block in blocks]
    yield alt.Chart(inline(rows)).mark_rule(color=colours.line).encode(x=x, x2="to:Q", y=y)
    arrived = alt.Chart(inline([{"from": 0}]))
    yield arrived.mark_rule(color=colours.quiet, strokeDash=[2, 3]).encode(x=x)


def _watts(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colours: Palette) -> Iterator[Any]:
    tooltip = [alt.Tooltip("text:N", title="drawn, mean"), *_seconds()]
    base = alt.Chart(inline(rows))
    yield base.mark_rect(color=colours.energy, opacity=0.45).encode(
        x=x, x2="to:Q", y=y, y2="foot:Q", tooltip=tooltip
    )
    yield base.mark_rule(color=colours.energy, size=2).encode(x=x, x2="to:Q", y=y)


def _unknown(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colours: Palette) -> Any:
    tooltip = [alt.Tooltip("text:N", title="drawn"), *_seconds()]
    return (
        alt.Chart(inline(rows))
        .mark_rect(color=hatched(colours, 24))
        .encode(x=x, x2="to:Q", y=y, y2="foot:Q", tooltip=tooltip)
    )


def _bars(rows: list[dict[str, Any]], x: alt.X, y: alt.Y, colours: Palette) -> Iterator[Any]:
    tooltip = [
        alt.Tooltip("who:N", title="request"),
        alt.Tooltip("phase:N", title="phase"),
        alt.Tooltip("time:N", title="took"),
        *_seconds(),
    ]
    shade = alt.Color("phase:N", scale=fixed(phase_colours(colours)), legend=None)
    for is_it, opacity in ((False, 0.38), (True, 1.0)):
        yield (
            alt.Chart(inline([row for row in rows if row["is_it"] == is_it]))
            .mark_rect(
                opacity=opacity,
                stroke=colours.text if is_it else None,
                strokeWidth=1.2 if is_it else 0,
            )
            .encode(x=x, x2="to:Q", y=y, y2="foot:Q", color=shade, tooltip=tooltip)
        )


def _seconds() -> list[alt.Tooltip]:
    return [
        alt.Tooltip("from:Q", title="from, s", format=".1f"),
        alt.Tooltip("to:Q", title="to, s", format=".1f"),
    ]


def short(ns: int) -> str:
    """A length in seconds, from ten minutes on in minutes and hours: 0.65 s, 74.8 s, 15 min."""
    seconds = ns / words.NANO
    return f"{seconds:.{2 if seconds < 10 else 1}f} s" if seconds < 600 else words.span(ns)


def second(ns: int, zone: dt.tzinfo) -> str:
    """The wall clock of the rig to the second: 14:10:05."""
    return dt.datetime.fromtimestamp(ns // words.NANO, zone).strftime("%H:%M:%S")
