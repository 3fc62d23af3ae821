"""The look that all charts share: axes, fonts, frame, and labels from a table."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt

from dashboard.palette import FONT, Palette

# Large amounts in thousands and millions, so that a narrow window has room for them.
BRIEF = "abs(datum.value) >= 1e5 ? replace(format(datum.value, '~s'), 'G', 'B') : datum.label"
LETTER_PX = 7.5  # what a letter takes, at most, of the size that texts behind bars have


def lookup(labels: dict[float, str]) -> str:
    """A Vega expression from tick values to their texts."""
    pairs = ", ".join(f"'{value:.4f}': '{_quoted(text)}'" for value, text in labels.items())
    return f"({{{pairs}}})[format(datum.value, '.4f')] || ''"


def _quoted(text: str) -> str:
    return text.replace("\\", "\\\\").replace("'", "\\'")


def axis_look(colours: Palette) -> dict[str, Any]:
    """Fonts, sizes and colours of an axis."""
    return {
        "labelFont": FONT,
        "titleFont": FONT,
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": 400,
        "labelColor": colours.quiet,
        "titleColor": colours.quiet,
        "domainColor": colours.line,
        "tickColor": colours.line,
        "gridColor": colours.line,
        "titlePadding": 8,
    }


def names_axis(colours: Palette) -> alt.Axis:
    """An axis of names, without a line."""
    look = axis_look(colours) | {"labelFontSize": 13, "labelColor": colours.text}
    return alt.Axis(ticks=False, domain=False, labelPadding=10, labelLimit=200, **look)


def numbers_axis(colours: Palette) -> alt.Axis:
    """An axis of amounts, with a few grid lines."""
    return alt.Axis(tickCount=5, domain=False, ticks=False, labelExpr=BRIEF, **axis_look(colours))


def lane_axes(
    seconds: Sequence[float],
    title: str,
    height: float,
    ticks: dict[float, str],
    colours: Palette,
    **lanes: Any,
) -> tuple[alt.X, alt.Y]:
    """Time in seconds to the right, and lanes of a chart from its top down, named at `ticks`;
    `lanes` is what their labels have of their own."""
    scale = alt.Scale(domain=list(seconds), nice=False)
    axis = alt.Axis(title=title, grid=False, tickCount=6, **axis_look(colours))
    x = alt.X("from:Q", scale=scale, axis=axis)
    y = alt.Y(
        "top:Q",
        scale=alt.Scale(domain=[0, height], reverse=True, nice=False),
        axis=alt.Axis(
            values=list(ticks),
            labelExpr=lookup(ticks),
            title=None,
            grid=False,
            ticks=False,
            domain=False,
            labelLimit=120,
            labelPadding=6,
            **(axis_look(colours) | lanes),
        ),
    )
    return x, y


def log_ticks(low: float, high: float) -> list[float]:
    """Ticks of a log scale: 1, 2 and 5 of each power of ten, or 1 alone where there are many."""
    powers = range(math.floor(math.log10(low)), math.ceil(math.log10(high)) + 1)
    steps = (1, 2, 5) if len(powers) <= 4 else (1,)
    ticks = [step * 10.0**power for power in powers for step in steps]
    return [tick for tick in ticks if low <= tick <= high]


def with_texts(low: float, high: float, texts: Sequence[str]) -> alt.Scale:
    """A linear scale of bars with room beyond the highest for the texts behind them, however wide
    the window is."""
    taken = 8 + LETTER_PX * max(map(len, texts), default=0)
    top = alt.ExprRef(f"{low} + {high - low} / max(0.3, 1 - {taken} / width)")
    return alt.Scale(domain=[low, top], nice=False, zero=False)


def around(amounts: Sequence[float]) -> list[float]:
    """A linear domain with zero in it and room for labels beyond both ends."""
    low, high = min([0.0, *amounts]), max([0.0, *amounts])
    room = (high - low) * 0.16 or 1.0
    return [low - room, high + room]


def inline(rows: list[dict[str, Any]]) -> Any:
    """Rows carried by the chart itself."""
    return alt.InlineData(values=rows)


def dress(
    layers: Sequence[Any], colours: Palette, height: int, width: int | str = "container"
) -> alt.LayerChart:
    """Layers as one chart on the page's own ground; the height in pixels includes the axes."""
    chart: Any = alt.layer(*layers)
    dressed: alt.LayerChart = chart.properties(
        height=height,
        width=width,
        background="transparent",
        padding={"left": 1, "right": 1, "top": 4, "bottom": 2},
    ).configure(
        font=FONT,
        view=alt.ViewConfig(stroke="transparent"),
        autosize=alt.AutoSizeParams(type="fit", contains="padding"),
    )
    return dressed
