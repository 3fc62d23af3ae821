"""How much of the cards was used, as pictures: the layers' chain, and requests at once.

Pure, as `charts`.
"""

from typing import Any

import altair as alt

from dashboard import words
from dashboard.axes import dress, inline, names_axis, numbers_axis, with_texts
from dashboard.palette import FONT, Palette, fixed

LEFT = {"hours": "active", "occupancy": "busy", "throughput": "at peak"}


def chain(layers: list[dict[str, Any]], currency: str, colours: Palette) -> alt.LayerChart:
    """What is left of the cards' capacity after each layer, and what each loses, with its price.

    `layers` as in a month's `layers.chain`; a layer that is not known has no bar.
    """
    rows = chain_rows(layers)
    order = [row["label"] for row in rows]
    widest = max([row["right"] for row in rows], default=1.0)
    scale = with_texts(0.0, widest, [row["text"] for row in rows])
    y = alt.Y("label:N", sort=order, title=None, axis=names_axis(colours))
    axis = numbers_axis(colours)
    axis["format"], axis["values"], axis["titleAnchor"] = "%", [0, 0.25, 0.5, 0.75, 1], "start"
    title = "of what the cards could put out"
    tooltip = [
        alt.Tooltip("label:N", title="the cards"),
        alt.Tooltip("left_text:N", title=title),
        alt.Tooltip("ratio_text:N", title="of the bar above"),
        alt.Tooltip("lost_text:N", title=f"loses, {currency} per million output tokens"),
    ]
    shades = {
        "hours": colours.states["idle"],
        "occupancy": colours.states["headroom"],
        "throughput": colours.below_peak,
    }
    drawn = [row for row in rows if row["left"] is not None]
    lost = (
        alt.Chart(inline([row for row in drawn if row["before"] > row["left"]]))
        .mark_bar(height=20, opacity=0.55)
        .encode(
            y=y,
            x=alt.X("left:Q", scale=scale, title=title, axis=axis),
            x2="before:Q",
            tooltip=tooltip,
            color=alt.Color("name:N", scale=fixed(shades), legend=None),
        )
    )
    left = (
        alt.Chart(inline(drawn))
        .mark_bar(height=20, color=colours.own)
        .encode(y=y, x=alt.X("left:Q", scale=scale, title=title, axis=axis), tooltip=tooltip)
    )
    texts = (
        alt.Chart(inline(rows))
        .mark_text(align="left", dx=8, font=FONT, fontSize=13, color=colours.text)
        .encode(y=y, x=alt.X("right:Q", scale=scale), text="text:N")
    )
    return dress([lost, left, texts], colours, 34 * len(rows) + 48)


def chain_rows(layers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The drawn rows: all of the capacity first, then what each layer leaves of it."""
    whole = words.share(1.0)
    rows = [_link("all", "in service", 1.0, 1.0) | {"text": whole, "ratio_text": whole}]
    before = 1.0
    for layer in layers:
        left, nano = layer["left"], layer["lost_nano_per_mtok"]
        text = words.share(left)
        if nano is not None:
            text += f" · loses {words.headline(nano)}"
        rows.append(
            _link(layer["name"], LEFT[layer["name"]], before, left)
            | {
                "text": text,
                "ratio_text": words.share(layer["ratio"]),
                "lost_text": words.headline(nano),
            }
        )
        before = before if left is None else left
    return rows


def _link(name: str, label: str, before: float, left: float | None) -> dict[str, Any]:
    return {
        "name": name,
        "label": label,
        "before": before,
        "left": left,
        "right": max(before, left or 0.0),
        "left_text": words.share(left),
        "lost_text": words.headline(0),
    }


def at_once(pool: dict[str, Any], colours: Palette) -> alt.LayerChart:
    """Hours by the number of requests in a pool at once, and the line of its slots.

    `pool` as in a month's `headroom.concurrency`; hours without any request are not drawn.
    """
    rows = at_once_rows(pool)
    most, slots = max(pool["most"], 1), pool["slots"]
    right = max(most, slots or 0) + 0.5
    axis = numbers_axis(colours)
    axis["tickMinStep"], axis["format"], axis["grid"] = 1, "d", False
    x_scale = alt.Scale(domain=[0.5, right], nice=False, zero=False)
    x = alt.X("from:Q", scale=x_scale, title="requests at once, waiting or computing", axis=axis)
    highest = max((row["hours"] for row in rows), default=1.0)
    y_scale = alt.Scale(domain=[0, highest * 1.18], nice=False)
    y = alt.Y("hours:Q", title="hours", scale=y_scale, axis=numbers_axis(colours))
    shades = {"within": colours.own, "beyond": colours.states["stranded"]}
    bars = (
        alt.Chart(inline(rows))
        .mark_bar()
        .encode(
            x=x,
            x2="to:Q",
            y=y,
            y2=alt.datum(0),
            tooltip=[
                alt.Tooltip("requests:N", title="requests at once"),
                alt.Tooltip("time:N", title="for"),
                alt.Tooltip("share:N", title="of the time with requests"),
                alt.Tooltip("room:N", title="slots"),
            ],
            color=alt.Color("side:N", scale=fixed(shades), legend=None),
        )
    )
    layers: list[Any] = [bars]
    if slots is not None:
        at_the_right = slots + 0.5 > 0.6 * right
        row = {"at": slots + 0.5, "text": words.count(slots, "slot")}
        line = alt.Chart(inline([row])).encode(x=alt.X("at:Q", scale=x_scale, axis=axis))
        layers += [
            line.mark_rule(color=colours.text, strokeWidth=1.5, strokeDash=[5, 3]),
            line.mark_text(
                align="right" if at_the_right else "left",
                dx=-6 if at_the_right else 6,
                font=FONT,
                fontSize=13,
                color=colours.text,
            ).encode(text="text:N", y=alt.value(9)),
        ]
    return dress(layers, colours, 230)


def at_once_rows(pool: dict[str, Any]) -> list[dict[str, Any]]:
    """The drawn bars: hours with one request, two, and so on, and on which side of the slots."""
    slots, rows = pool["slots"], []
    for text, ns in pool["at_once_ns"].items():
        number = int(text)
        if not number:
            continue
        beyond = slots is not None and number > slots
        rows.append(
            {
                "requests": number,
                "from": number - 0.42,
                "to": number + 0.42,
                "hours": ns / words.NANO / 3600,
                "ns": ns,
                "time": words.span(ns),
                "share": words.share(ns / pool["worked_ns"]),
                "side": "beyond" if beyond else "within",
                "room": "unknown" if slots is None else "all taken" if beyond else "enough",
            }
        )
    return rows
