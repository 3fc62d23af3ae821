"""The month as pictures: each card's days by state, and the hours of the week by busy share.

Pure, as `charts`.
"""

import datetime as dt
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import axis_look, dress, inline, lookup
from dashboard.palette import (
    FONT,
    STATE_WORDS,
    STATES,
    Palette,
    between,
    fixed,
    hatched,
    ink_on,
    solid_states,
)

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
STRIP, CELL = 0.8, 0.9
HOURS = range(24)


def month_strips(
    card_days: list[dict[str, Any]], names: dict[str, str], month: str, colours: Palette
) -> alt.LayerChart:
    """The cards' month: one row per card, one cell per day, split by time share of states.

    `card_days` as in a month's `groups.card_day`; `names` gives the rows, in order, and what to
    call them.
    """
    rows = day_rows(card_days, names)
    x, length = days_of(month, colours)
    middles = {index + STRIP / 2: name for index, name in enumerate(names.values())}
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
    bottom = len(names) - 1 + STRIP
    y = alt.Y("low:Q", scale=alt.Scale(domain=[0, bottom], reverse=True, nice=False), axis=y_axis)
    tooltip = [
        alt.Tooltip("card:N", title="card"),
        alt.Tooltip("when:N", title="day"),
        alt.Tooltip("state:N", title="state"),
        alt.Tooltip("time:N", title="time"),
        alt.Tooltip("share:N", title="of the day"),
    ]
    ground = [
        {"start": day - CELL / 2, "end": day + CELL / 2, "low": row, "high": row + STRIP}
        for row in range(len(names))
        for day in range(1, length + 1)
    ]
    layers = [
        alt.Chart(inline(ground))
        .mark_rect(color=colours.page, stroke=colours.line, strokeWidth=1)
        .encode(x=x, x2="end:Q", y=y, y2="high:Q"),
        alt.Chart(inline([row for row in rows if row["key"] != "unknown"]))
        .mark_rect()
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2="high:Q",
            tooltip=tooltip,
            color=alt.Color("key:N", scale=fixed(solid_states(colours)), legend=None),
        ),
        alt.Chart(inline([row for row in rows if row["key"] == "unknown"]))
        .mark_rect(color=hatched(colours, 5))
        .encode(x=x, x2="end:Q", y=y, y2="high:Q", tooltip=tooltip),
    ]
    return dress(layers, colours, 64 * len(names) + 46)


def days_of(month: str, colours: Palette) -> tuple[alt.X, int]:
    """The days of a month as an axis, `start` in days, and how many there are."""
    first = dt.date.fromisoformat(f"{month}-01")
    length = ((first + dt.timedelta(days=31)).replace(day=1) - first).days
    axis = alt.Axis(
        values=list(range(1, length + 1)),
        title=f"day of {words.month_name(month)}",
        format="d",
        grid=False,
        ticks=False,
        labelOverlap="parity",
        labelSeparation=4,
        **axis_look(colours),
    )
    scale = alt.Scale(domain=[0.5, length + 0.5], nice=False)
    return alt.X("start:Q", scale=scale, axis=axis), length


def day_rows(card_days: list[dict[str, Any]], names: dict[str, str]) -> list[dict[str, Any]]:
    """The drawn parts of the days, busy at the bottom; their heights are shares of the time."""
    index = {card: at for at, card in enumerate(names)}
    rows: list[dict[str, Any]] = []
    for told in card_days:
        day = dt.date.fromisoformat(told["day"])
        high = index[told["card"]] + STRIP
        for state in STATES:
            ns = told["states_ns"][state]
            if not ns:
                continue
            low = high - STRIP * ns / told["capacity_ns"]
            rows.append(
                {
                    "card": names[told["card"]],
                    "key": state,
                    "state": STATE_WORDS[state],
                    "start": day.day - CELL / 2,
                    "end": day.day + CELL / 2,
                    "low": low,
                    "high": high,
                    "ns": ns,
                    "when": words.day_name(told["day"]),
                    "time": words.span(ns),
                    "share": words.share(ns / told["capacity_ns"]),
                }
            )
            high = low
    return rows


def week(hours: list[dict[str, Any]], zone: str, colours: Palette) -> alt.LayerChart:
    """The week as a map of its hours, each by the share of the cards' time that was busy; hours
    that nobody watched are hatched, those that never were in service stay blank.

    `hours` as in a month's `groups.weekday_hour`.
    """
    rows = week_rows(hours)
    top = max((row["share"] for row in rows if row["share"] is not None), default=0.0) or 1.0
    x = alt.X(
        "hour:O",
        scale=alt.Scale(domain=[f"{hour:02}" for hour in HOURS], paddingInner=0.06),
        title=f"hour of the day, local time ({zone})",
        axis=alt.Axis(
            labelAngle=0,
            ticks=False,
            domain=False,
            labelExpr="toNumber(datum.label) % 3 ? '' : datum.label",
            labelOverlap=False,
            **axis_look(colours),
        ),
    )
    y = alt.Y(
        "weekday:O",
        sort=list(WEEKDAYS),
        scale=alt.Scale(domain=list(WEEKDAYS), paddingInner=0.08),
        title=None,
        axis=alt.Axis(
            ticks=False,
            domain=False,
            labelPadding=8,
            **(axis_look(colours) | {"labelFontSize": 13, "labelColor": colours.text}),
        ),
    )
    tooltip = [
        alt.Tooltip("when:N", title="hour"),
        alt.Tooltip("text:N", title="busy"),
        alt.Tooltip("time:N", title="busy card time"),
        alt.Tooltip("unknown:N", title="without a witness"),
    ]
    cold, hot = colours.states["off"], colours.own
    shade = alt.Color(
        "share:Q",
        scale=alt.Scale(domain=[0, top], range=[cold, hot], interpolate="rgb"),
        legend=None,
    )
    known = [row for row in rows if row["share"] is not None]
    inked = [
        row | {"ink": ink_on(between(cold, hot, row["share"] / top))}
        for row in known
        if row["short"]
    ]
    ink = alt.condition("datum.ink == '#ffffff'", alt.value("#ffffff"), alt.value("#000000"))
    layers = [
        alt.Chart(inline(known))
        .mark_rect(cornerRadius=2)
        .encode(x=x, y=y, color=shade, tooltip=tooltip),
        alt.Chart(inline([row for row in rows if row["share"] is None]))
        .mark_rect(color=hatched(colours, 6), stroke=colours.line, strokeWidth=1)
        .encode(x=x, y=y, tooltip=tooltip),
        alt.Chart(inline(inked))
        .mark_text(font=FONT, fontSize=9.5)
        .encode(x=x, y=y, text="short:N", color=ink),
    ]
    return dress(layers, colours, 7 * 28 + 44)


def week_rows(hours: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn hours; a share of nothing that was watched is None."""
    rows = []
    for told in hours:
        share, hour = told["busy_share"], int(told["hour"])
        percent = None if share is None else round(share * 100)
        rows.append(
            {
                "weekday": WEEKDAYS[told["weekday"] - 1],
                "hour": told["hour"],
                "share": share,
                "when": f"{WEEKDAYS[told['weekday'] - 1]}, {hour:02}:00 to {(hour + 1) % 24:02}:00",
                "text": words.share(share),
                "short": str(percent) if percent else "",
                "time": words.span(told["states_ns"]["busy"]),
                "unknown": words.span(told["states_ns"]["unknown"]),
            }
        )
    return rows
