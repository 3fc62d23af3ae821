"""Who got the requests, and why prompts were computed: as pictures.

Pure, as `charts`.
"""

import datetime as dt
from collections.abc import Mapping
from typing import Any

import altair as alt

from analytics.routing import NONE
from dashboard import words
from dashboard.axes import dress, inline, names_axis, numbers_axis, with_texts
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


def causes(told: Mapping[str, Any], currency: str, colours: Palette) -> alt.LayerChart:
    """What computing prompts cost, by why they were not read from a cache, dearest first.

    `told` as in a month's `routing.misses.causes`; what no token bears is left out.
    """
    rows = cause_rows(told)
    order = [row["label"] for row in rows]
    top = max([row["cost"] for row in rows], default=0.0) or 1.0
    y = alt.Y("label:N", sort=order, title=None, axis=names_axis(colours))
    scale = with_texts(0.0, top, [row["text"] for row in rows])
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
