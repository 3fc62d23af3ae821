"""Charts as data: frames and dicts in, Altair charts out. No page, no clock, no file.

Amounts arrive as integer nano-units and integer nanoseconds; floats are for drawing alone.
"""

import datetime as dt
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import axis_look, dress, inline, names_axis, numbers_axis, with_texts
from dashboard.palette import FONT, STEP_WORDS, Palette, fixed, hatched

ROW_PX = 26


def waterfall(steps: list[dict[str, Any]], currency: str, colours: Palette) -> alt.LayerChart:
    """Where the money of a million output tokens went: one bar per step, then their sum.

    `steps` as in a month's `waterfall_nano_per_mtok`; steps without cost are left out.
    """
    rows = waterfall_rows(steps)
    order = [row["label"] for row in rows]
    top = max(row["right"] for row in rows)
    bottom = min(min(row["start"], row["end"]) for row in rows)
    data = inline(rows)
    y = alt.Y("label:N", sort=order, title=None, axis=names_axis(colours))
    scale = with_texts(min(0.0, bottom), top, [row["text"] for row in rows])
    title = f"{currency} per million output tokens"
    x = alt.X("start:Q", scale=scale, title=title, axis=numbers_axis(colours))
    tooltip = [
        alt.Tooltip("label:N", title="step"),
        alt.Tooltip("text:N", title=title),
        alt.Tooltip("of_total:N", title="of the full price"),
    ]
    shades = {row["step"]: _step_colour(row["step"], colours) for row in rows}
    shades.pop("unknown", None)
    # Pale bars need an outline to be seen on the page.
    edge = alt.condition(
        alt.datum.step == "off", alt.value(colours.hatch), alt.value("transparent")
    )
    bars = (
        alt.Chart(data)
        .transform_filter(alt.datum.step != "unknown")
        .mark_bar(height=18, strokeWidth=1)
        .encode(
            y=y,
            x=x,
            x2="end:Q",
            tooltip=tooltip,
            color=alt.Color("step:N", scale=fixed(shades), legend=None),
            stroke=edge,
        )
    )
    unknown = (
        alt.Chart(data)
        .transform_filter(alt.datum.step == "unknown")
        .mark_bar(height=18, color=hatched(colours, 24), stroke=colours.hatch, strokeWidth=1)
        .encode(y=y, x=x, x2="end:Q", tooltip=tooltip)
    )
    layers = [bars, unknown]
    for is_total in (False, True):
        layers.append(
            alt.Chart(data)
            .mark_text(
                align="left",
                dx=7,
                font=FONT,
                fontSize=13,
                fontWeight="bold" if is_total else "normal",
                color=colours.text,
            )
            .encode(y=y, x=alt.X("right:Q", scale=scale), text="text:N")
            .transform_filter((alt.datum.step == "total") == is_total)
        )
    return dress(layers, colours, ROW_PX * len(rows) + 46)


def waterfall_rows(steps: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn rows: start, end and printed amount of each step; the last one is the total."""
    told = [step for step in steps if step["nano_per_mtok"]]
    total = sum(step["nano_per_mtok"] for step in told)
    decimals = words.decimals_for(total)
    printed = words.parts([step["nano_per_mtok"] for step in told], decimals)
    rows = []
    at = 0
    for step, text in zip(told, printed, strict=True):
        nano = step["nano_per_mtok"]
        shown = "<" + words.least(decimals) if nano > 0 and not text.strip("0.") else text
        rows.append(_bar(step["step"], (at, at + nano), shown, total))
        at += nano
    rows.append(_bar("total", (0, total), words.cents(total, decimals), total))
    return rows


def _bar(step: str, edges: tuple[int, int], text: str, total: int) -> dict[str, Any]:
    start, end = edges
    return {
        "step": step,
        "label": STEP_WORDS.get(step, "together"),
        "start": start / words.NANO,
        "end": end / words.NANO,
        "right": max(start, end) / words.NANO,
        "nano": end - start,
        "text": text,
        "of_total": words.share((end - start) / total if total else None),
    }


def trend(
    months: list[dict[str, Any]], chosen: str, currency: str, colours: Palette
) -> alt.LayerChart:
    """Full price per month as bars, the API bills for the same requests as marks across them.

    `months` as `overview.trend` gives them; the name of the `chosen` one is bold. A month without
    output tokens has no bar, its name stays.
    """
    step = max(24, min(76, 304 // max(len(months), 1)))
    roomy = step >= 40
    own, api = trend_rows(months)
    labels = [month_label(entry["month"]) for entry in months]
    title = f"{currency} per million output tokens"
    x = alt.X(
        "month:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, paddingInner=0.45, paddingOuter=0.3),
        axis=alt.Axis(
            labelAngle=0,
            ticks=False,
            labelExpr="split(datum.label, ' ')",
            labelFontWeight=alt.condition(
                f"datum.value === '{month_label(chosen)}'", alt.value("bold"), alt.value("normal")
            ),
            **(axis_look(colours) | {"labelFontSize": 12 if roomy else 10}),
        ),
    )
    top = max([row["price"] for row in own + api], default=1.0)
    y = alt.Y(
        "price:Q",
        title=title,
        scale=alt.Scale(domain=[0, top * 1.15], nice=False),
        axis=alt.Axis(tickCount=4, **axis_look(colours)),
    )
    tooltip = [
        alt.Tooltip("when:N", title="month"),
        alt.Tooltip("who:N", title="price of"),
        alt.Tooltip("text:N", title=title),
    ]
    bars = (
        alt.Chart(inline(own))
        .mark_bar(color=colours.own, cornerRadiusTopLeft=2, cornerRadiusTopRight=2)
        .encode(
            x=x,
            y=y,
            tooltip=tooltip,
            opacity=alt.condition(alt.datum.provisional, alt.value(0.62), alt.value(1.0)),
        )
    )
    named = alt.Chart(inline(own if roomy else own[-1:])).encode(x=x, y=y, text="short:N")
    aside: dict[str, Any] = {} if roomy else {"align": "right", "dx": 0.28 * step}
    # A mark may cross a figure, too.
    figures = [
        named.mark_text(dy=-8, font=FONT, fontSize=13, **aside, **ink)
        for ink in (
            {"color": colours.page, "stroke": colours.page, "strokeWidth": 4},
            {"color": colours.text},
        )
    ]
    # A halo in the page's colour keeps the mark apart from the bar it crosses.
    halo, marks = (
        alt.Chart(inline(api))
        .mark_tick(thickness=thickness, color=colour, orient="horizontal", size=step * 0.82)
        .encode(x=x, y=y, tooltip=tooltip)
        for thickness, colour in ((7, colours.page), (3, colours.api))
    )
    layers = [bars, halo, marks, *figures]
    return dress(layers, colours, 210, width=62 + step * len(months))


def trend_rows(
    months: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The drawn bars and marks; an unknown price is left out, never drawn as zero."""
    own: list[dict[str, Any]] = []
    api: list[dict[str, Any]] = []
    for entry in months:
        when = words.month_name(entry["month"]) + (", so far" if entry["provisional"] else "")
        base = {
            "month": month_label(entry["month"]),
            "when": when,
            "provisional": entry["provisional"],
        }
        prices = [("this rig, full cost", entry["full_nano_per_mtok"], own)]
        prices += [(name, nano, api) for name, nano in entry["compare"].items()]
        for who, nano, rows in prices:
            if nano is not None:
                shown = {"who": who, "price": nano / words.NANO, "text": words.headline(nano)}
                rows.append(base | shown | {"short": words.brief(nano)})
    return own, api


def cost_split(cost_nano: dict[str, int], currency: str, colours: Palette) -> alt.LayerChart:
    """What the period's cost is made of, as one labelled bar: hardware, electricity, the rest.

    No part may be negative.
    """
    total, hardware = cost_nano["total"], cost_nano["capital"]
    until = hardware + cost_nano["energy"]
    scale = alt.Scale(domain=[0, total / words.NANO], nice=False)
    told: list[tuple[Any, ...]] = [
        ("hardware", colours.capital, 0, hardware, "left", 0),
        ("electricity", colours.energy, hardware, until, "right", total),
    ]
    if cost_nano["other"]:
        told.append(("other", colours.quiet, until, total, "right", total))
    lines = {
        label: f"{label} {words.share((end - start) / total if total else None)}"
        for label, _, start, end, _, _ in told
    }
    # Two small parts beside each other have no room for a label each.
    if "other" in lines:
        lines["electricity"] += f" · {lines.pop('other')}"
    layers = []
    for label, colour, start, end, side, edge in told:
        row = {
            "start": start / words.NANO,
            "end": end / words.NANO,
            "edge": edge / words.NANO,
            "label": label,
            "line": lines.get(label, ""),
            "text": words.cents(end - start),
        }
        tooltip = [alt.Tooltip("label:N", title="cost"), alt.Tooltip("text:N", title=currency)]
        x = alt.X("start:Q", scale=scale, axis=None)
        base = alt.Chart(inline([row]))
        layers += [
            base.mark_bar(color=colour, height=12).encode(
                x=x, x2="end:Q", y=alt.value(6), tooltip=tooltip
            ),
            base.mark_text(
                align=side, font=FONT, fontSize=12, color=colours.quiet, baseline="top"
            ).encode(x=alt.X("edge:Q", scale=scale, axis=None), y=alt.value(18), text="line:N"),
        ]
    return dress(layers, colours, 38)


def month_label(month: str) -> str:
    """`2026-10` as it stands on an axis: Oct ’26."""
    date = dt.date.fromisoformat(f"{month}-01")
    return f"{date:%b} ’{date:%y}"


def _step_colour(step: str, colours: Palette) -> str:
    return colours.quiet if step == "total" else colours.step(step)
