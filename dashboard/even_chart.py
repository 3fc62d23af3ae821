"""The break-even in hours a day, as a curve with where the rig is. Pure, as `charts`."""

from collections.abc import Iterator, Mapping
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import around, axis_look, dress, inline, log_ticks
from dashboard.palette import FONT, Palette


def even(
    curve: Mapping[str, Any], sheet: Mapping[str, Any], currency: str, colours: Palette
) -> alt.LayerChart:
    """The full price by the hours of work a day, the sheet's bill across it, and where the rig is.

    `curve` as `by_hours.by_hours` gives it; where the two meet stands in the sheet's break-even.
    """
    rows = curve_rows(curve)
    here = next(row for row in rows if row["hours"] == curve["here_hours"])
    bill = sheet["headline_nano_per_mtok"]
    prices = [row["price"] for row in rows] + ([bill / words.NANO] if bill else [])
    is_log = min(prices) > 0
    title = f"{currency} per million output tokens{' (log scale)' if is_log else ''}"
    domain = [min(prices) / 1.35, max(prices) * 1.2] if is_log else around(prices)
    scale = alt.Scale(domain=domain, nice=False, type="log" if is_log else "linear")
    y = alt.Y(
        "price:Q",
        title=title,
        scale=scale,
        axis=alt.Axis(
            **({"values": log_ticks(*domain)} if is_log else {"tickCount": 4}),
            format=",~r" if is_log else ",~f",
            domain=False,
            ticks=False,
            **axis_look(colours),
        ),
    )
    x = alt.X(
        "hours:Q",
        title="hours a day in active windows",
        scale=alt.Scale(domain=[0, 24], nice=False),
        axis=alt.Axis(values=[0, 4, 8, 12, 16, 20, 24], grid=False, **axis_look(colours)),
    )
    tooltip = [
        alt.Tooltip("told:N", title="hours a day"),
        alt.Tooltip("text:N", title=f"{currency} per million, here"),
    ]
    curve_line = alt.Chart(inline(rows)).encode(x=x, y=y)
    layers: list[Any] = [
        curve_line.mark_line(color=colours.own, size=2, interpolate="monotone"),
        curve_line.mark_point(opacity=0, size=90).encode(tooltip=tooltip),
    ]
    layers += _bill_line(sheet, x, y, currency, colours) if bill else []
    right = here["hours"] <= 12
    mark = alt.Chart(inline([here | {"label": f"you are here: {here['told']}, {here['text']}"}]))
    layers += [
        mark.mark_point(size=150, filled=True, opacity=1, color=colours.own).encode(
            x=x, y=y, tooltip=tooltip
        ),
        mark.mark_text(
            align="left" if right else "right",
            dx=11 if right else -11,
            dy=-9,
            font=FONT,
            fontSize=13,
            fontWeight="bold",
            color=colours.text,
        ).encode(x=x, y=y, text="label:N"),
    ]
    return dress(layers, colours, 280)


def curve_rows(curve: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The drawn points of the curve."""
    return [
        {
            "hours": point["hours"],
            "told": f"{point['hours']:.2g} h" if point["hours"] < 10 else f"{point['hours']:.0f} h",
            "price": point["full_nano_per_mtok"] / words.NANO,
            "text": words.headline(point["full_nano_per_mtok"]),
        }
        for point in curve["points"]
    ]


def _bill_line(
    sheet: Mapping[str, Any], x: alt.X, y: alt.Y, currency: str, colours: Palette
) -> Iterator[Any]:
    """The bill across the curve, named on the side where the curve is further away, and where
    they meet."""
    nano, meet = sheet["headline_nano_per_mtok"], sheet["break_even"]
    is_left = meet is not None and meet["verdict"] == "never"
    row = {
        "price": nano / words.NANO,
        "text": words.headline(nano),
        "label": f"{sheet['sheet']} {words.headline(nano)}",
        "hours": 0 if is_left else 24,
    }
    base = alt.Chart(inline([row]))
    tooltip = [
        alt.Tooltip("label:N", title="the same requests at"),
        alt.Tooltip("text:N", title=currency),
    ]
    yield base.mark_rule(color=colours.api, size=2).encode(y=y, tooltip=tooltip)
    yield base.mark_text(
        align="left" if is_left else "right",
        dx=4 if is_left else -4,
        dy=-9,
        font=FONT,
        fontSize=12,
        color=colours.api,
        limit=280,
    ).encode(x=x, y=y, text="label:N")
    # A bound of where they meet lies on neither line.
    sure = meet is not None and meet["bounds"]["hours_per_day"] == "exactly"
    if meet is not None and sure and meet["verdict"] == "at":
        told = row | {"hours": float(meet["hours_per_day"]), "told": "even"}
        yield (
            alt.Chart(inline([told]))
            .mark_point(size=130, shape="diamond", strokeWidth=2, opacity=1)
            .encode(
                x=x,
                y=y,
                stroke=alt.value(colours.api),
                fill=alt.value(colours.page),
                tooltip=[alt.Tooltip("hours:Q", title="even at hours a day", format=".1f")],
            )
        )
