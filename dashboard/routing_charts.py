"""Who got the requests, what was believed to be cached, why prompts were computed: as pictures.

Pure, as `charts`.
"""

import datetime as dt
import math
from collections.abc import Mapping
from typing import Any

import altair as alt

from analytics.routing import NONE
from dashboard import words
from dashboard.axes import axis_look, dress, inline, names_axis, numbers_axis
from dashboard.calendars import CELL, days_of
from dashboard.palette import FONT, Palette, fixed, hatched, of_cards

CAUSES = {
    "misrouted": "computed on another card",
    "evicted": "lost by its own card",
    "rewritten": "history rewritten",
    "new": "new",
    "untold": "unknown",
}
NOWHERE = "on no known card"


def shares(
    by_day: list[dict[str, Any]], names: Mapping[str, str], month: str, colours: Palette
) -> alt.LayerChart:
    """Each day's requests by card, as shares of the day.

    `by_day` as in a month's `routing`; `names` gives the cards, in order, and what to call them.
    """
    rows = share_rows(by_day, names)
    x, _ = days_of(month, colours)
    axis = numbers_axis(colours)
    axis["format"], axis["values"] = "%", [0, 0.25, 0.5, 0.75, 1]
    y = alt.Y(
        "low:Q",
        title="share of the day's requests",
        scale=alt.Scale(domain=[0, 1], nice=False),
        axis=axis,
    )
    tooltip = [
        alt.Tooltip("card:N", title="card"),
        alt.Tooltip("when:N", title="day"),
        alt.Tooltip("requests:Q", title="requests", format=",d"),
        alt.Tooltip("share:N", title="of the day's"),
    ]
    known = [name for name in names if name != NONE]
    shades = of_cards(known, colours)
    layers = [
        alt.Chart(inline([row for row in rows if row["key"] != NONE]))
        .mark_rect(stroke=colours.page, strokeWidth=0.7)
        .encode(
            x=x,
            x2="end:Q",
            y=y,
            y2="high:Q",
            tooltip=tooltip,
            color=alt.Color("key:N", scale=fixed(shades), legend=None),
        ),
        alt.Chart(inline([row for row in rows if row["key"] == NONE]))
        .mark_rect(color=hatched(colours, 5))
        .encode(x=x, x2="end:Q", y=y, y2="high:Q", tooltip=tooltip),
    ]
    return dress(layers, colours, 230)


def share_rows(by_day: list[dict[str, Any]], names: Mapping[str, str]) -> list[dict[str, Any]]:
    """The drawn parts of the days, the first card at the bottom."""
    rows = []
    for told in by_day:
        day, every = dt.date.fromisoformat(told["name"]).day, sum(told["requests"].values())
        low = 0
        for card, name in names.items():
            requests = told["requests"].get(card, 0)
            if not requests:
                continue
            rows.append(
                {
                    "key": card,
                    "card": name,
                    "start": day - CELL / 2,
                    "end": day + CELL / 2,
                    "low": low / every,
                    "high": (low + requests) / every,
                    "when": words.day_name(told["name"]),
                    "requests": requests,
                    "share": words.share(requests / every),
                }
            )
            low += requests
    return rows


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


def causes(told: Mapping[str, Any], currency: str, colours: Palette) -> alt.LayerChart:
    """What computing prompts cost, by why they were not read from a cache, dearest first.

    `told` as in a month's `routing.misses.causes`; what no token bears is left out.
    """
    rows = cause_rows(told)
    order = [row["label"] for row in rows]
    top = max([row["cost"] for row in rows], default=0.0) or 1.0
    y = alt.Y("label:N", sort=order, title=None, axis=names_axis(colours))
    scale = alt.Scale(domain=[0, top * 1.4], nice=False)
    x = alt.X(
        "cost:Q",
        title=f"cost of computing it, {currency}",
        scale=scale,
        axis=numbers_axis(colours),
    )
    tooltip = [
        alt.Tooltip("label:N", title="why it was computed"),
        alt.Tooltip("text:N", title=currency),
        alt.Tooltip("tokens:N", title="tokens"),
        alt.Tooltip("requests:N", title="requests"),
        alt.Tooltip("time:N", title="card time"),
    ]
    shades = {
        **dict.fromkeys(("misrouted", "evicted", "rewritten"), colours.own),
        "new": colours.unassigned,
    }
    known = alt.Chart(inline([row for row in rows if row["cause"] != "untold"]))
    unknown = alt.Chart(inline([row for row in rows if row["cause"] == "untold"]))
    layers = [
        known.mark_bar(height=18).encode(
            x=x,
            y=y,
            tooltip=tooltip,
            color=alt.Color("cause:N", scale=fixed(shades), legend=None),
        ),
        unknown.mark_bar(height=18, color=hatched(colours, 24)).encode(x=x, y=y, tooltip=tooltip),
        alt.Chart(inline(rows))
        .mark_text(align="left", dx=7, font=FONT, fontSize=13, color=colours.text)
        .encode(x=x, y=y, text="text:N"),
    ]
    return dress(layers, colours, 30 * len(rows) + 48)


def cause_rows(told: Mapping[str, Any]) -> list[dict[str, Any]]:
    """The drawn bars; their printed costs add up as printed."""
    kept = [(cause, sums) for cause, sums in told.items() if sums["tokens"] or sums["cost_nano"]]
    kept.sort(key=lambda each: (-each[1]["cost_nano"], list(CAUSES).index(each[0])))
    total = sum(sums["cost_nano"] for _, sums in kept)
    texts = words.parts([sums["cost_nano"] for _, sums in kept], words.decimals_for(total))
    return [
        {
            "cause": cause,
            "label": CAUSES[cause],
            "cost": sums["cost_nano"] / words.NANO,
            "nano": sums["cost_nano"],
            "text": text,
            "tokens": words.count(sums["tokens"]),
            "requests": words.count(sums["requests"]),
            "time": words.span(sums["ns"]),
        }
        for (cause, sums), text in zip(kept, texts, strict=True)
    ]


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
