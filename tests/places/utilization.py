"""Where the figures of the utilization page come from."""

from typing import Any

from places import common
from places.common import Rows, Told
from rig.units import headline, share, span
from rig.walk import Place

WEEKDAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
LEFT = {"hours": "active", "occupancy": "busy", "throughput": "at peak"}


def chain(month: Told) -> Rows:
    """What each layer leaves of the one above, and the price of what it loses."""
    before = 1.0
    rows: Rows = [
        {"label": "in service", "left": 1.0, "left_text": share(1), "ratio_text": share(1),
         "lost_text": "0.00", "text": share(1)}
    ]  # fmt: skip
    for each in month["layers"]["chain"]:
        lost = headline(each["lost_nano_per_mtok"])
        row = {
            "label": LEFT[each["name"]],
            "left": each["left"],
            "left_text": share(each["left"]),
            "ratio_text": share(each["ratio"]),
            "lost_text": lost,
            "text": f"{share(each['left'])} · loses {lost}",
        }
        lost_bar = {"name": each["name"], "before": before}
        rows.append(row | lost_bar if before > each["left"] else row)
        before = each["left"]
    return rows


def week(month: Told) -> Rows:
    """Each hour of the week by the share of the watched time that was busy."""
    rows = []
    for each in month["groups"]["weekday_hour"]:
        day, hour, busy = WEEKDAYS[each["weekday"] - 1], int(each["hour"]), each["busy_share"]
        place = {"weekday": day, "hour": each["hour"]}
        told: dict[str, Any] = place | {
            "when": f"{day}, {hour:02}:00 to {(hour + 1) % 24:02}:00",
            "text": "unknown" if busy is None else share(busy),
            "time": span(each["states_ns"]["busy"]),
            "unknown": span(each["states_ns"]["unknown"]),
        }
        rows.append(told if busy is None else told | {"share": busy})
        if busy and round(busy * 100):
            rows.append(place | {"short": str(round(busy * 100))})
    return rows


def at_once(month: Told) -> Rows:
    """Hours by requests at once, and where the slots end."""
    (pool,) = month["headroom"]["concurrency"]
    slots = pool["slots"]
    rows: Rows = [{"at": slots + 0.5}, {"at": slots + 0.5, "text": f"{slots} slots"}]
    for number, ns in pool["at_once_ns"].items():
        if at := int(number):
            rows.append(
                {"requests": at, "from": at - 0.42, "to": at + 0.42, "hours": ns / (3600 * 10**9),
                 "time": span(ns), "share": share(ns / pool["worked_ns"]),
                 "side": "beyond" if at > slots else "within",
                 "room": "all taken" if at > slots else "enough"}
            )  # fmt: skip
    return rows


PLACE = Place(
    metrics={
        "of the cards busy": "{layers.chain.1.left:share}",
        "Hours": "{layers.hours:share}",
        "Occupancy": "{layers.occupancy:share}",
        "Throughput": "{layers.throughput:share}",
    }.items(),
    sentences=[
        "What stands idle, and must it? · October 2026",
        "Of {capacity_ns:hours} of card time, {states_ns.busy:hours} were busy: "
        "{states_ns.unknown:hours} unknown, {states_ns.idle:hours} idle, "
        "{states_ns.headroom:hours} headroom, {states_ns.stranded:hours} stranded. Of "
        "{cost_per_mtok.full.output:headline} USD per million output tokens, "
        "**{layers.chain.0.lost_nano_per_mtok:headline}** go because nobody witnessed what the "
        "cards did.",
        "Of {capacity_ns:hours} of card time: {states_ns.unknown:hours} unknown, "
        "{states_ns.idle:hours} idle.",
        "Within active hours, cards stood ready for {states_ns.headroom:hours} and stranded for "
        "{states_ns.stranded:hours}.",
        "Measured against the best 60 busy seconds, {rates.0:rate} to {rates.1:rate} tokens per "
        "second a card; fewer requests ran at once.",
        "Each day of October 2026, by what the cards did in it, in shares of the day.",
        "Busiest: Mon 08:00 to 09:00, **{busiest:share}** of the cards' time. {never} hours of the "
        "week never had a request.",
        "Pool default had requests for {headroom.concurrency.0.worked_ns:span}, at most "
        "**{headroom.concurrency.0.most:count} at once**; more than its "
        "{headroom.concurrency.0.slots:count} slots for "
        "**{headroom.concurrency.0.over_slots_ns:span}**: somebody waited. Without any request, "
        "and not drawn: {headroom.concurrency.0.at_once_ns.0:span}; without a witness: "
        "{headroom.concurrency.0.unknown_ns:span}.",
        "Pool default misses 95 of 100 first tokens within {headroom.slo.ttft_p95_ms:ms}: with all "
        "{headroom.needed.0.engines:count} engines it takes **{headroom.needed.0.p95_ms.2:ms}**.",
        "Pauses shorter than {active_gap.gap_ns:minutes} count as headroom, longer ones as idle "
        "time. Half and twice the gap would tell:",
    ],
    tables=[
        ("gaps", {
            "gap": "{gap_ns:minutes}, {which}", "headroom": "{headroom_ns:hours}",
            "idle": "{idle_ns:hours}", "hours": "{hours:share}", "occupancy": "{occupancy:share}",
        }),
        ("groups.card", {
            "card": "on-{name}",
            **{f"{state}_h": f"{{states_ns.{state}:as_hours}}"
               for state in ("busy", "stranded", "headroom", "idle", "unknown")},
            "hours": "{layers.hours}", "occupancy": "{layers.occupancy}",
            "throughput": "{layers.throughput}", "cost": "{cost_nano:units}",
        }),
    ],
    charts={
        "What is left of the cards' capacity after each layer": chain,
        "State of each card by day of the month": common.days,
        "Busy share of the cards' time by hour and weekday": week,
        "Hours by the number of requests at once": at_once,
    },
)  # fmt: skip
