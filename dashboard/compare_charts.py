"""Each API's bills for the same requests beside own cost, as a picture. Pure, as `charts`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import around, axis_look, dress, inline, log_ticks
from dashboard.palette import FONT, Palette

BILLS = {
    "no_cache_nano": ("no cache", "triangle-up"),
    "same_hits_nano": ("same hits", "square"),
    "simulated_nano": ("simulated cache", "circle"),
}
OWN = {"full": "full cost here", "marginal": "marginal cost here"}
# Beyond this ratio of the largest amount to the smallest, the small ones need a log scale.
WIDE = 12
ROW_PX, HEAD_PX = 46, 44


def bills(found: Mapping[str, Any], chosen: str, colours: Palette) -> alt.LayerChart:
    """Per sheet its three bills as dots on one line, the headline one filled, and own cost in
    full and marginal as lines through all of them.

    `found` is a `comparison.comparison`; a bill that is not known has no dot.
    """
    dots, own = bill_rows(found), own_rows(found)
    amounts = [row["amount"] for row in dots + own]
    is_log = min(amounts) > 0 and max(amounts) > WIDE * min(amounts)
    names = [entry["sheet"] for entry in found["sheets"]]
    height = HEAD_PX + ROW_PX * len(names)
    span = [min(amounts) / 1.5, max(amounts) * 1.6] if is_log else around(amounts)
    kind = "log" if is_log else "linear"
    scale = alt.Scale(domain=span, nice=False, type=kind)  # type: ignore[arg-type]
    title = f"{found['currency']} for the period{' (log scale)' if is_log else ''}"
    axis = alt.Axis(
        **({"values": log_ticks(*span)} if is_log else {"tickCount": 5}),
        domain=False,
        ticks=False,
        format=",~r" if is_log else ",~f",
        labelOverlap="parity",
        **axis_look(colours),
    )
    x = alt.X("amount:Q", scale=scale, title=title, axis=axis)
    # Pixel places: names stand above their lines, and use the whole width.
    y = alt.Y("place:Q", scale=alt.Scale(domain=[0, height], reverse=True, nice=False), axis=None)
    lines = alt.Chart(inline(list(_lines(names, span)))).mark_rule(color=colours.line, size=1)
    tooltip = [
        alt.Tooltip("sheet:N", title="at"),
        alt.Tooltip("bill:N", title="bill with"),
        alt.Tooltip("text:N", title=found["currency"]),
    ]
    middle = (span[0] * span[1]) ** 0.5 if is_log else sum(span) / 2
    for number, row in enumerate(own):
        row |= {"place": 8 + 17 * number, "foot": height, "is_left": row["amount"] <= middle}
    own_tooltip = [
        alt.Tooltip("own:N", title="this rig"),
        alt.Tooltip("text:N", title=found["currency"]),
    ]
    shape = alt.Shape(
        "bill:N",
        scale=alt.Scale(
            domain=[name for name, _ in BILLS.values()], range=[form for _, form in BILLS.values()]
        ),
        legend=None,
    )
    points = (
        alt.Chart(inline(dots))
        .mark_point(size=110, strokeWidth=2, opacity=1, stroke=colours.api)
        .encode(
            x=x,
            y=y,
            shape=shape,
            tooltip=tooltip,
            fill=alt.condition(
                alt.datum.is_headline, alt.value(colours.api), alt.value(colours.page)
            ),
        )
    )
    named = alt.Chart(inline([row | {"place": row["place"] - 17} for row in _lines(names, span)]))
    # A halo in the page's colour keeps the names apart from the lines that they cross.
    halo, titles = (
        named.mark_text(align="left", font=FONT, fontSize=13, limit=340, **ink).encode(
            x=alt.X("from:Q", scale=scale),
            y=y,
            text="sheet:N",
            opacity=alt.condition(alt.datum.sheet == chosen, alt.value(1), alt.value(opacity)),
        )
        for ink, opacity in (
            ({"color": colours.page, "stroke": colours.page, "strokeWidth": 5}, 1),
            ({"color": colours.text}, 0.72),
        )
    )
    return dress(
        [
            lines.encode(x=alt.X("from:Q", scale=scale), x2="to:Q", y=y),
            *_own(own, x, y, own_tooltip, colours),
            halo,
            titles,
            points,
        ],
        colours,
        height + 46,
    )


def bill_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The drawn dots; where the simulated bill is the headline it is the filled one."""
    rows = []
    for number, entry in enumerate(found["sheets"]):
        for figure, (name, _) in BILLS.items():
            if entry[figure] is not None:
                rows.append(
                    {
                        "sheet": entry["sheet"],
                        "bill": name,
                        "amount": entry[figure] / words.NANO,
                        "text": words.cents(entry[figure]),
                        "is_headline": figure == f"{entry['scenario']}_nano",
                        "place": _place(number),
                    }
                )
    return rows


def own_rows(found: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Own cost, full and marginal; without the latter where it is not known."""
    return [
        {
            "own": label,
            "amount": nano / words.NANO,
            "text": words.cents(nano),
            "kind": kind,
            "label": f"{label} {words.cents(nano)}",
        }
        for kind, label in OWN.items()
        if (nano := found["cost_nano"][kind]) is not None
    ]


def _place(number: int) -> int:
    return HEAD_PX + ROW_PX * number + 30


def _lines(names: Sequence[str], span: Sequence[float]) -> Iterator[dict[str, Any]]:
    for number, name in enumerate(names):
        yield {"sheet": name, "from": span[0], "to": span[1], "place": _place(number)}


def _own(
    rows: list[dict[str, Any]], x: alt.X, y: alt.Y, tooltip: list[alt.Tooltip], colours: Palette
) -> Iterator[Any]:
    """A line through all sheets for each own cost, its name above on a row of its own."""
    for row in rows:
        base = alt.Chart(inline([row]))
        dash = [1, 0] if row["kind"] == "full" else [5, 4]
        yield base.mark_rule(color=colours.own, size=2, strokeDash=dash).encode(
            x=x, y=y, y2="foot:Q", tooltip=tooltip
        )
        yield base.mark_text(
            align="left" if row["is_left"] else "right",
            dx=6 if row["is_left"] else -6,
            baseline="middle",
            font=FONT,
            fontSize=12,
            color=colours.own,
        ).encode(x=x, y=y, text="label:N")
