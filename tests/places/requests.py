"""Where the figures of the requests page come from: the ledger's attempts and their rows in the
books of the day."""

from places.common import NANO, Rows, Told
from rig.units import short
from rig.walk import LAYOUT, Place

KINDS = {"new": "new input", "recomputed": "recomputed input", "output": "output",
         "unsplit": "not told apart"}  # fmt: skip
CAUSES = {"misrouted": "computed on another card", "new": "new"}


def kinds(attempt: Told) -> Rows:
    """Card time and money by kind, where there was any."""
    return [
        {"kind": name, "ns": attempt[f"{kind}_ns"], "nano": attempt[f"{kind}_nano"]}
        for kind, name in KINDS.items()
        if attempt[f"{kind}_ns"]
    ]


def timeline(told: Told) -> Rows:
    """The request's phases and its neighbours' within 15 s around it, in seconds since it came;
    nobody read the card's power."""
    it = told["told"]
    arrived, low, high = it["received_at_ns"], -15.0, it["duration_ns"] / NANO + 15
    rows: Rows = [{"from": low, "to": high}, {"from": 0}]
    for each in told["attempts"]:
        if each["gpus"] != it["gpus"] or each["ttft_ns"] is None:
            continue
        start = (each["received_at_ns"] - arrived) / NANO
        first, end = each["ttft_ns"] / NANO, each["duration_ns"] / NANO
        for phase, since, until in (("prefill", 0, first), ("output", first, end)):
            cut = [min(max(start + at, low), high) for at in (since, until)]
            if cut[0] < cut[1]:
                is_it = each["event_id"] == it["event_id"]
                who = "this request" if is_it else each["session"] or each["event_id"]
                row = {"phase": phase, "who": who, "time": short(round((until - since) * NANO))}
                rows.append(row | {"from": cut[0], "to": cut[1]})
    return rows


DAY = Place(
    metrics={
        "requests": "{day.requests:count}",
        "output tokens": "{day_output:count}",
        "USD that day": "{day.states_cost_nano.busy:headline}",
    }.items(),
    sentences=["**{last_day_name}**"],
    tables=[
        ("listed", {
            "arrived": "{second}", "took": "{duration_ns:seconds}", "status": "{status}",
            "model": "{model}", "project": "{project}", "session": "{session}",
            "card": "on-{gpus.0}", "input": "{input_tokens}", "cached": "{cache_read_tokens}",
            "output": "{output_tokens}", "cost": "{nano:units}",
        }),
    ],
)  # fmt: skip
OPENED = Place(
    metrics=[*DAY.metrics, *{
        "took": "{told.duration_ns:short}",
        "waited": "0.00 s",
        "to the first token": "{told.ttft_ns:short}",
        "card time": "{attempt.ns:short}",
        "new input tokens": "{attempt.fresh_tokens:count}",
        "recomputed": "{attempt.recomputed_tokens:count}",
        "cached": "{told.cache_read_tokens:count}",
        "output tokens": "{told.output_tokens:count}",
        "cached, predicted": "{route.hit_tokens:count}",
        "cached, reported": "{route.actual_hit_tokens:count}",
        "against the quickest other": "{route.regret_ms:later}",
    }.items()],
    sentences=[
        *DAY.sentences,
        "It arrived at {told_second}, ran on on-B and was answered. Model m, session s.",
        "It cost **{attempt.nano:exact} USD**: {attempt_printed.0} hardware, {attempt_printed.1} "
        "electricity, {attempt_printed.2} other costs.",
    ],
    tables=[
        *DAY.tables,
        ("kinds", {"for": "{kind}", "card time": "{ns:short}", "cost": "{nano:units}"}),
        ("route.candidates", {
            "engine": "{engine}", "was": "{was}", "hit": "{hit_tokens}",
            "pending": "{pending_tokens}", "in flight": "{in_flight}",
            "estimate": "{estimate_ms:thousandths}",
        }),
        ("own_misses", {
            "why computed": "{why}", "tokens": "{tokens}", "card time": "{ns:short}",
            "cost": "{nano:units}",
        }),
        ("bills", {
            "API": "{sheet}", "no cache": "{no_cache_nano:units}",
            "same hits": "{same_hits_nano:units}", "simulated cache": "{simulated_nano:units}",
        }),
    ],
    charts={
        "The request and its neighbours on the card's time line, and the power beneath": timeline
    },
    layout=(*LAYOUT, "top"),
)  # fmt: skip
