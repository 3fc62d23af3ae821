"""What was saved since the purchase, as a picture. Pure, as `charts`."""

from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import around, axis_look, dress, inline
from dashboard.charts import month_label
from dashboard.palette import FONT, Palette

KINDS = ("full", "marginal")


def payback(months: list[dict[str, Any]], currency: str, colours: Palette) -> alt.LayerChart:
    """What was saved since the purchase, month by month, against full and marginal cost.

    `months` are a sheet's of `savings.since_purchase`; a hollow point is a month whose own saving
    is not known, so that its sum stands where it stood.
    """
    rows = payback_rows(months)
    labels = [month_label(entry["month"]) for entry in months]
    x = alt.X(
        "month:N",
        sort=labels,
        title=None,
        scale=alt.Scale(domain=labels, type="point", padding=0.5),
        axis=alt.Axis(
            labelAngle=0,
            ticks=False,
            labelOverlap="parity",
            labelSeparation=8,
            labelExpr="split(datum.label, ' ')",
            **axis_look(colours),
        ),
    )
    y = alt.Y(
        "amount:Q",
        title=f"{currency} saved since the purchase",
        scale=alt.Scale(domain=around([row["amount"] for row in rows]), nice=False),
        axis=alt.Axis(tickCount=5, format=",~f", domain=False, ticks=False, **axis_look(colours)),
    )
    shade = {"full": colours.own, "marginal": colours.api}
    zero = alt.Chart(inline([{"amount": 0}])).mark_rule(color=colours.quiet, size=1).encode(y=y)
    layers: list[Any] = [zero]
    ends = {row["kind"]: row["amount"] for row in rows}
    lower = min(ends, key=lambda kind: ends[kind], default=None)
    for kind, colour in shade.items():
        own = [row for row in rows if row["kind"] == kind]
        base = alt.Chart(inline(own)).encode(x=x, y=y)
        tooltip = [
            alt.Tooltip("when:N", title="up to"),
            alt.Tooltip("against:N", title="against"),
            alt.Tooltip("text:N", title=f"{currency} saved"),
            alt.Tooltip("own:N", title="of it in this month"),
        ]
        dash = [1, 0] if kind == "full" else [5, 4]
        fill = alt.condition(alt.datum.is_known, alt.value(colour), alt.value(colours.page))
        layers += [
            base.mark_line(color=colour, size=2, strokeDash=dash),
            base.mark_point(size=60, opacity=1, stroke=colour).encode(tooltip=tooltip, fill=fill),
            alt.Chart(inline(own[-1:]))
            .mark_text(
                dy=17 if kind == lower else -15,
                align="right" if len(labels) > 1 else "center",
                font=FONT,
                fontSize=13,
                color=colour,
            )
            .encode(x=x, y=y, text="label:N"),
        ]
    return dress(layers, colours, 280)


def payback_rows(months: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn points, both lines one after the other, each from the first known saving on."""
    return [
        {
            "kind": kind,
            "against": f"{kind} cost",
            "month": month_label(entry["month"]),
            "when": f"the end of {words.month_name(entry['month'])}",
            "amount": entry[f"saved_{kind}_sum_nano"] / words.NANO,
            "text": words.change(entry[f"saved_{kind}_sum_nano"]),
            "label": f"against {kind} {words.change(entry[f'saved_{kind}_sum_nano'])}",
            "own": words.change(entry[f"saved_{kind}_nano"]),
            "is_known": entry[f"saved_{kind}_nano"] is not None,
        }
        for kind in KINDS
        for entry in months
        if entry[f"saved_{kind}_sum_nano"] is not None
    ]
