"""What the rig costs, as pictures: months by what was paid for, groups by their three prices.

Pure, as `charts`.
"""

from typing import Any

import altair as alt

from analytics.render.report import PARTS
from dashboard import words
from dashboard.axes import axis_look, dress, inline, names_axis, numbers_axis, with_texts
from dashboard.charts import month_label
from dashboard.palette import FONT, Palette, fixed, hatched

ROW_PX = 30


def months(entries: list[dict[str, Any]], chosen: str, currency: str, colours: Palette) -> Any:
    """Each month's cost as a bar of its parts, their sum above it; the `chosen` name is bold.

    `entries` as `cost_months` gives them. A part may be negative: it then stands below zero.
    """
    rows, sums = month_rows(entries)
    labels = [month_label(entry["month"]) for entry in entries]
    label = month_label(chosen)
    bold = f"datum.value === '{label}'"
    x = alt.X(
        "month:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, paddingInner=0.4, paddingOuter=0.25),
        axis=alt.Axis(
            labelAngle=0,
            ticks=False,
            labelExpr="split(datum.label, ' ')",
            labelFontWeight=alt.condition(bold, alt.value("bold"), alt.value("normal")),
            labelOverlap=False,
            **(axis_look(colours) | {"labelFontSize": 11 if len(labels) > 6 else 12}),
        ),
    )
    top = max((row["top"] for row in sums), default=0.0) or 1.0
    low = min([row["low"] for row in sums] + [0.0])
    scale = alt.Scale(domain=[low * 1.1, top * 1.14], nice=False)
    title = f"{currency} a month"
    y = alt.Y("low:Q", title=title, scale=scale, axis=numbers_axis(colours))
    shades = {"capital": colours.capital, "energy": colours.energy, "other": colours.other_cost}
    tooltip = [
        alt.Tooltip("when:N", title="month"),
        alt.Tooltip("what:N", title="paid for"),
        alt.Tooltip("text:N", title=currency),
        alt.Tooltip("total:N", title="the month's cost"),
    ]
    paler = alt.condition(alt.datum.provisional, alt.value(0.62), alt.value(1.0))
    bars = (
        alt.Chart(inline(rows))
        .mark_bar(stroke=colours.page, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            y2="high:Q",
            tooltip=tooltip,
            opacity=paler,
            color=alt.Color("part:N", scale=fixed(shades), legend=None),
        )
    )
    size = 13 if len(labels) <= 6 else 11
    # In a narrow window there may be room for the chosen month's sum alone.
    needed = len(labels) * size * 0.58 * max((len(row["short"]) for row in sums), default=0)
    figures = [
        alt.Chart(inline([row for row in sums if is_chosen == (row["month"] == label)]))
        .mark_text(dy=-8, font=FONT, fontSize=size, color=colours.text, opacity=opacity)
        .encode(x=x, y=alt.Y("top:Q", scale=scale), text="short:N")
        for is_chosen, opacity in ((True, 1), (False, alt.ExprRef(f"width < {needed:.0f} ? 0 : 1")))
    ]
    return dress([bars, *figures], colours, 250)


def month_rows(
    entries: list[dict[str, Any]],
) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """The drawn parts, positive ones upon each other and negative ones below zero, and where each
    month's sum is written."""
    rows: list[dict[str, Any]] = []
    sums: list[dict[str, Any]] = []
    for entry in entries:
        cost, least = entry["cost_nano"], "at least " if entry["at_least"] else ""
        total = least + words.cents(cost["total"])
        when = words.month_name(entry["month"]) + (", so far" if entry["provisional"] else "")
        ends = [0, 0]
        for part, what in PARTS.items():
            nano = cost[part]
            side = nano < 0
            start, ends[side] = ends[side], ends[side] + nano
            if nano:
                rows.append(
                    {
                        "month": month_label(entry["month"]),
                        "when": when,
                        "provisional": entry["provisional"],
                        "part": part,
                        "what": what,
                        "nano": nano,
                        "low": start / words.NANO,
                        "high": ends[side] / words.NANO,
                        "text": words.cents(nano),
                        "total": total,
                    }
                )
        sums.append(
            {
                "month": month_label(entry["month"]),
                "low": ends[1] / words.NANO,
                "top": ends[0] / words.NANO,
                "short": words.brief(cost["total"]) + ("+" if entry["at_least"] else ""),
            }
        )
    return rows, sums


def three_prices(rows: list[dict[str, Any]], currency: str, colours: Palette) -> alt.LayerChart:
    """Groups by what they cost: full, active and marginal as bars within one bar, a tick at the end
    of each. A marginal cost that is not known is a hatched mark at zero.

    `rows` as `price_rows` gives them.
    """
    order = [row["label"] for row in rows]
    figures = [row[key] for row in rows for key in ("full", "active", "marginal")]
    known = [figure for figure in figures if figure is not None]
    texts = [row["full_text"] for row in rows]
    scale = with_texts(min([0.0, *known]), max([0.0, *known]) or 1.0, texts)
    axis = names_axis(colours)
    axis["labelLimit"] = 128
    y = alt.Y("label:N", sort=order, title=None, axis=axis)
    tooltip = [alt.Tooltip("label:N", title="name")] + [
        alt.Tooltip(f"{key}_text:N", title=f"{key}, {currency}")
        for key in ("full", "active", "marginal")
    ]
    data = inline(rows)
    layers: list[Any] = []
    for key, height in (("full", 18), ("active", 12), ("marginal", 6)):
        x = alt.X(f"{key}:Q", scale=scale, title=currency, axis=numbers_axis(colours))
        base = (
            alt.Chart(data).transform_filter(f"datum.{key} !== null").encode(y=y, tooltip=tooltip)
        )
        layers += [
            base.mark_bar(height=height, color=colours.price(key)).encode(x=x),
            base.mark_tick(thickness=2, size=height + 4, color=colours.text).encode(x=x),
        ]
    layers += [
        alt.Chart(data)
        .transform_filter("datum.marginal === null")
        .mark_bar(height=6, color=hatched(colours, 4), stroke=colours.hatch, strokeWidth=1)
        .encode(y=y, x=alt.value(1), x2=alt.value(15), tooltip=tooltip),
        alt.Chart(data)
        .mark_text(align="left", dx=8, font=FONT, fontSize=13, color=colours.text)
        .encode(y=y, x=alt.X("right:Q", scale=scale), text="full_text:N"),
    ]
    return dress(layers, colours, ROW_PX * len(rows) + 50)


def price_rows(
    groups: list[dict[str, Any]], names: dict[str, str] | None = None
) -> list[dict[str, Any]]:
    """The drawn rows of a document's groups, in their order; `names` tells what to call them."""
    rows = []
    for group in groups:
        full, active, marginal = three_costs(group)
        told = {"full": full, "active": active, "marginal": marginal}
        least = "at least " if group["marginal_at_least"] else ""
        texts = {f"{key}_text": words.cents(nano) for key, nano in told.items()}
        if marginal is not None:
            texts["marginal_text"] = least + texts["marginal_text"]
        floats = {key: None if nano is None else nano / words.NANO for key, nano in told.items()}
        right = max(nano for nano in (full, active, marginal or 0)) / words.NANO
        label = (names or {}).get(group["name"], group["name"])
        rows.append({"label": label, "right": max(right, 0.0), **floats, **texts})
    return rows


def three_costs(group: dict[str, Any]) -> tuple[int, int, int | None]:
    """A group's full, active and marginal cost, nano-units; cards tell theirs by state."""
    if "full_cost_nano" in group:
        return group["full_cost_nano"], group["busy_cost_nano"], group["marginal_cost_nano"]
    busy = group["states_cost_nano"]["busy"]
    return group["cost_nano"], busy, group["marginal_cost_nano"]
