"""What became of decisions, as pictures: hits as predicted and reported, and regret. Pure."""

import math
from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import axis_look, dress, inline, numbers_axis
from dashboard.palette import Palette, fixed


def hits(pairs: list[dict[str, Any]], colours: Palette) -> alt.LayerChart:
    """Decisions by the hit they predicted and the one that was reported, around the diagonal.

    `pairs` as in a month's `routing.hits`: a circle stands at the means of its decisions.
    """
    rows = hit_rows(pairs)
    top = max([max(row["predicted"], row["actual"]) for row in rows], default=0.0) * 1.08 or 1.0
    scale = alt.Scale(domain=[-top * 0.03, top], nice=False, zero=False)
    axis_x, axis_y = numbers_axis(colours), numbers_axis(colours)
    axis_x["labelExpr"] = axis_y["labelExpr"] = "datum.value ? format(datum.value, '~s') : '0'"
    x = alt.X("predicted:Q", title="predicted to be cached, tokens", scale=scale, axis=axis_x)
    y = alt.Y("actual:Q", title="reported as cached, tokens", scale=scale, axis=axis_y)
    most = max([row["decisions"] for row in rows], default=1)
    size = alt.Size("decisions:Q", scale=alt.Scale(domain=[0, most], range=[14, 620]), legend=None)
    line = alt.Chart(inline([{"predicted": 0, "actual": 0}, {"predicted": top, "actual": top}]))
    shades = {"as predicted": colours.own, "less": colours.states["stranded"], "more": colours.api}
    circles = (
        alt.Chart(inline(rows))
        .mark_circle(opacity=0.62, stroke=colours.page, strokeWidth=1)
        .encode(
            x=x,
            y=y,
            size=size,
            color=alt.Color("side:N", scale=fixed(shades), legend=None),
            tooltip=[
                alt.Tooltip("decisions:Q", title="decisions", format=",d"),
                alt.Tooltip("predicted:Q", title="predicted, mean tokens", format=",.0f"),
                alt.Tooltip("actual:Q", title="reported, mean tokens", format=",.0f"),
                alt.Tooltip("side:N", title="found"),
            ],
        )
    )
    diagonal = line.mark_line(color=colours.quiet, strokeWidth=1.2, strokeDash=[4, 4])
    return dress([diagonal.encode(x=x, y=y), circles], colours, 320)


def hit_rows(pairs: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn circles, the largest first, so that none hides another."""
    rows = []
    for pair in sorted(pairs, key=lambda pair: -pair["decisions"]):
        predicted, actual = pair["hit_tokens"], pair["actual_hit_tokens"]
        same = pair["predicted_from"] == pair["actual_from"]
        side = "as predicted" if same else "less" if actual < predicted else "more"
        rows.append(
            {
                "decisions": pair["decisions"],
                "predicted": predicted / pair["decisions"],
                "actual": actual / pair["decisions"],
                "side": side,
            }
        )
    return rows


def regrets(bins: list[dict[str, Any]], colours: Palette) -> alt.LayerChart:
    """Decisions by how much later their first token came than another card was estimated to need.

    `bins` as in a month's `routing.regret`: each a power of two wide, so the axis is logarithmic
    on both sides of zero.
    """
    rows = regret_rows(bins)
    reach = max([abs(row["end"]) for row in rows] + [abs(row["start"]) for row in rows], default=1)
    ticks = [0, *(sign * (math.log2(ms) + 1) for ms in (1, 32, 1024, 32768) for sign in (1, -1))]
    labels = {tick: _moved(tick) for tick in ticks if abs(tick) <= reach + 0.5}
    expression = " ".join(f"datum.value == {at} ? '{text}' :" for at, text in labels.items())
    x = alt.X(
        "start:Q",
        title="later than estimated elsewhere (log scale)",
        scale=alt.Scale(domain=[-reach - 0.6, reach + 0.6], nice=False),
        axis=alt.Axis(
            values=list(labels), labelExpr=f"{expression} ''", grid=False, **axis_look(colours)
        ),
    )
    y = alt.Y("decisions:Q", title="decisions", axis=numbers_axis(colours))
    shades = {"later": colours.own, "sooner": colours.unassigned}
    bars = (
        alt.Chart(inline(rows))
        .mark_bar()
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2=alt.datum(0),
            color=alt.Color("side:N", scale=fixed(shades), legend=None),
            tooltip=[
                alt.Tooltip("text:N", title="first token"),
                alt.Tooltip("decisions:Q", title="decisions", format=",d"),
            ],
        )
    )
    return dress([bars], colours, 210)


def regret_rows(bins: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn bars; a bin from 2ⁿ ms stands around n + 1 on its side of zero."""
    rows = []
    for each in bins:
        ms = each["from_ms"]
        middle = math.copysign(math.log2(abs(ms)) + 1, ms) if ms else 0.0
        side = "later" if ms > 0 else "sooner"
        text = "as estimated" if not ms else f"{_ms(abs(ms))} to {_ms(2 * abs(ms))} {side}"
        rows.append(
            {
                "start": middle - 0.44,
                "end": middle + 0.44,
                "decisions": each["decisions"],
                "side": side,
                "text": text,
            }
        )
    return rows


def _moved(tick: float) -> str:
    return "0" if not tick else f"{words.MINUS if tick < 0 else '+'}{_ms(2 ** (abs(tick) - 1))}"


def _ms(ms: float) -> str:
    return f"{ms:.0f} ms" if ms < 1000 else f"{ms / 1000:.0f} s"
