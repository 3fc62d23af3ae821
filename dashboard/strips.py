"""The cards' day as a picture: state strips in 15-minute cells. Pure, as `charts`."""

import datetime as dt
from typing import Any

import altair as alt
import polars as pl

from dashboard import words
from dashboard.axes import axis_look, dress, inline, lookup
from dashboard.palette import STATE_WORDS, STATES, Palette, fixed, hatched, solid_states

HOUR_NS = 3600 * words.NANO
STRIP = 0.78


def day_strips(
    strips: pl.DataFrame,
    names: dict[str, str],
    day_ns: tuple[int, int],
    zone: dt.tzinfo,
    colours: Palette,
) -> alt.LayerChart:
    """The cards' day: one row per card, one cell per 15 minutes, split by time share of states.

    `strips` holds card, bucket_ns, state, ns, cost_nano; `names` gives the rows, in order, and
    what to call them; `day_ns` is the day's [from, to). The axis is the rig's wall clock, laid
    over elapsed hours, so that a day of 23 or 25 hours has neither gap nor overlap.
    """
    day_from_ns, day_to_ns = day_ns
    cards = list(names.values())
    rows = strip_rows(strips, names, day_from_ns, zone)
    length = (day_to_ns - day_from_ns) / HOUR_NS
    ticks = wall_ticks(day_from_ns, day_to_ns, zone)
    x_axis = alt.Axis(
        values=list(ticks),
        labelExpr=lookup(ticks),
        title=f"local time ({zone})",
        grid=False,
        labelOverlap="parity",
        labelSeparation=12,
        **axis_look(colours),
    )
    middles = {index + STRIP / 2: card for index, card in enumerate(cards)}
    y_axis = alt.Axis(
        values=list(middles),
        labelExpr=lookup(middles),
        title=None,
        grid=False,
        ticks=False,
        domain=False,
        labelPadding=8,
        labelLimit=160,
        **(axis_look(colours) | {"labelFontSize": 13, "labelColor": colours.text}),
    )
    x = alt.X("start:Q", scale=alt.Scale(domain=[0, length], nice=False), axis=x_axis)
    y = alt.Y(
        "low:Q",
        scale=alt.Scale(domain=[0, len(cards) - 1 + STRIP], reverse=True, nice=False),
        axis=y_axis,
    )
    tooltip = [
        alt.Tooltip("card:N", title="card"),
        alt.Tooltip("clock:N", title="from"),
        alt.Tooltip("state:N", title="state"),
        alt.Tooltip("time:N", title="time"),
    ]
    empty = [
        {"start": 0, "end": length, "low": index, "high": index + STRIP}
        for index in range(len(cards))
    ]
    ground = (
        alt.Chart(inline(empty))
        .mark_rect(color=colours.page, stroke=colours.line, strokeWidth=1)
        .encode(x=x, x2="end:Q", y=y, y2="high:Q")
    )
    shade = alt.Color("key:N", scale=fixed(solid_states(colours)), legend=None)
    cells = (
        alt.Chart(inline([row for row in rows if row["key"] != "unknown"]))
        # Neighbours of one colour must not show the seam between two cells.
        .mark_rect(strokeWidth=0.7)
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2="high:Q",
            tooltip=tooltip,
            color=shade,
            stroke=alt.Stroke("key:N", scale=fixed(solid_states(colours)), legend=None),
        )
    )
    unknown = (
        alt.Chart(inline([row for row in rows if row["key"] == "unknown"]))
        .mark_rect(color=hatched(colours, 4))
        .encode(x=x, x2="end:Q", y=y, y2="high:Q", tooltip=tooltip)
    )
    return dress([ground, cells, unknown], colours, 38 * len(cards) + 46)


def strip_rows(
    strips: pl.DataFrame, names: dict[str, str], day_from_ns: int, zone: dt.tzinfo
) -> list[dict[str, Any]]:
    """The drawn cells: hours since the day's start, height by share of the cell's time."""
    index = {card: at for at, card in enumerate(names)}
    order = {state: at for at, state in enumerate(STATES)}
    rows: list[dict[str, Any]] = []
    for (card, bucket), cell in strips.group_by("card", "bucket_ns", maintain_order=True):
        told = sorted(cell.iter_rows(named=True), key=lambda row: order[row["state"]])
        covered = sum(row["ns"] for row in told)
        if not covered:
            continue
        high = index[str(card)] + STRIP
        start = int(str(bucket)) - day_from_ns
        for row in told:
            if not row["ns"]:
                continue
            low = high - STRIP * row["ns"] / covered
            rows.append(
                {
                    "card": names[str(card)],
                    "key": row["state"],
                    "state": STATE_WORDS[row["state"]],
                    "start": start / HOUR_NS,
                    "end": (start + covered) / HOUR_NS,
                    "low": low,
                    "high": high,
                    "ns": row["ns"],
                    "time": words.span(row["ns"]),
                    "clock": words.clock(int(str(bucket)), zone),
                }
            )
            high = low
    return rows


def wall_ticks(from_ns: int, to_ns: int, zone: dt.tzinfo) -> dict[float, str]:
    """Elapsed hours at every third hour of the wall clock, with what the clock shows there."""
    ticks: dict[float, str] = {}
    for at in range(from_ns, to_ns + 1, HOUR_NS // 4):
        wall = dt.datetime.fromtimestamp(at // words.NANO, zone)
        text = f"{wall:%H:%M}"
        if wall.hour % 3 == 0 and wall.minute == 0 and text not in list(ticks.values())[1:]:
            ticks[(at - from_ns) / HOUR_NS] = text
    return ticks
