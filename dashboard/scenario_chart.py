"""Named what-ifs beside each other and beside the API, as a picture. Pure, as `charts`."""

from collections.abc import Sequence
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import axis_look, dress, inline, names_axis, with_texts
from dashboard.palette import FONT, Palette

ROW_PX, HEAD_PX = 34, 62


def prices(
    rows: Sequence[tuple[str, int]], api: tuple[str, int] | None, currency: str, colours: Palette
) -> alt.LayerChart:
    """The full price per million output tokens of each scenario (name, nano-units) as a bar, and
    the API's as a line across all of them."""
    drawn: list[dict[str, Any]] = [
        {"scenario": name, "price": nano / words.NANO, "text": words.headline(nano)}
        for name, nano in rows
    ]
    amounts = [nano / words.NANO for _, nano in [*rows, *([api] if api else [])]]
    texts = [row["text"] for row in drawn]
    low, high = min(0.0, *amounts), max(0.0, *amounts)
    scale = with_texts(1.16 * low, high or 1.0, texts)
    title = f"{currency} per million output tokens"
    axis = alt.Axis(tickCount=5, format=",~f", domain=False, ticks=False, **axis_look(colours))
    x = alt.X("price:Q", scale=scale, title=title, axis=axis)
    names = [name for name, _ in rows]
    own_names = names_axis(colours)
    own_names["labelLimit"] = 128  # people name them, at length
    y = alt.Y("scenario:N", sort=names, title=None, axis=own_names)
    base = alt.Chart(inline(drawn)).encode(x=x, y=y)
    tooltip = [alt.Tooltip("scenario:N"), alt.Tooltip("text:N", title=title)]
    layers: list[Any] = [
        base.mark_bar(color=colours.own, height=16).encode(tooltip=tooltip),
        base.mark_text(align="left", dx=6, font=FONT, fontSize=12, color=colours.text).encode(
            text="text:N"
        ),
    ]
    if api is not None:
        there = [{"price": api[1] / words.NANO, "text": words.headline(api[1]), "at": api[0]}]
        line = alt.Chart(inline(there)).mark_rule(color=colours.api, size=2)
        told = [alt.Tooltip("at:N", title="at"), alt.Tooltip("text:N", title=title)]
        layers.append(line.encode(x=x, tooltip=told))
    return dress(layers, colours, HEAD_PX + ROW_PX * len(rows))
