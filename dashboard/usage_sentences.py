"""The utilization page's sentences, from a month's figures; only their wording is made here."""

from typing import Any

from dashboard import words
from dashboard.calendars import WEEKDAYS
from dashboard.palette import STATE_WORDS, STATES
from dashboard.sentences import plain

# Why hours are not active, by the state that most of them were in.
AWAY = {
    "idle": "the rig waits for its owner",
    "other": "the cards work for something else",
    "off": "the rig is off",
    "unknown": "nobody witnessed what the cards did",
}


def answer(month: dict[str, Any]) -> str:
    """What stood idle, in card time, and what the layers lose most by."""
    states, capacity = month["states_ns"], month["capacity_ns"]
    rest = sorted((s for s in STATES if s != "busy" and states[s]), key=lambda s: -states[s])
    told = ", ".join(f"{words.hours(states[state])} {STATE_WORDS[state]}" for state in rest)
    busy = f"Of {words.hours(capacity)} of card time, {words.hours(states['busy'])} were busy"
    return f"{busy}: {told or 'nothing stood idle'}." if told else f"{busy}."


def dearest(month: dict[str, Any]) -> str:
    """The layer that loses most of the full price."""
    layers = [each for each in month["layers"]["chain"] if each["lost_nano_per_mtok"] is not None]
    if not layers and month["tokens"]["output"] is None:
        return "No request told how many tokens it put out, so no layer has a price."
    if not layers:
        return "No output tokens in this period, so no layer has a price."
    worst = max(layers, key=lambda layer: layer["lost_nano_per_mtok"])
    why = {
        "hours": AWAY[max(AWAY, key=lambda state: month["states_ns"][state])],
        "occupancy": "cards stand ready or stranded within active hours",
        "throughput": "requests run below the speed that the cards can reach",
    }[worst["name"]]
    full = month["cost_per_mtok"]["full"]["output"]
    lost = words.headline(worst["lost_nano_per_mtok"])
    return (
        f"Of {words.headline(full)} {month['currency']} per million output tokens, **{lost}** go "
        f"because {why}."
    )


def days(month: dict[str, Any]) -> str:
    """What the strips show."""
    name = words.month_name(month["period"]["name"])
    return f"Each day of {name}, by what the cards did in it, in shares of the day."


def week(hours: list[dict[str, Any]]) -> str:
    """The busiest hour of the week and how much of the week was never busy."""
    known = [each for each in hours if each["busy_share"] is not None]
    busy = [each for each in known if each["states_ns"]["busy"]]
    if not known:
        return "Nobody watched any hour of the week, so none has a share."
    if not busy:
        return "In no hour of the week was any card busy."
    top = max(busy, key=lambda each: each["busy_share"])
    hour = int(top["hour"])
    told = (
        f"Busiest: {WEEKDAYS[top['weekday'] - 1]} {hour:02}:00 to {(hour + 1) % 24:02}:00, "
        f"**{words.share(top['busy_share'])}** of the cards' time."
    )
    never = len(known) - len(busy)
    return told + (
        f" {words.count(never, 'hour')} of the week never had a request." if never else ""
    )


def at_once(pool: dict[str, Any]) -> str:
    """How many requests came at once, and whether the slots were enough."""
    name, slots = plain(pool["name"]), pool["slots"]
    if not pool["worked_ns"]:
        return f"Pool {name} had no request in this period."
    told = (
        f"Pool {name} had requests for {words.span(pool['worked_ns'])}, at most "
        f"**{words.count(pool['most'])} at once**"
    )
    if slots is None:
        told += "; how many slots it has nobody told."
    elif not pool["over_slots_ns"]:
        told += f"; its {words.count(slots, 'slot')} were always enough."
    else:
        told += (
            f"; more than its {words.count(slots, 'slot')} for "
            f"**{words.span(pool['over_slots_ns'])}**: somebody waited."
        )
    quiet = pool["at_once_ns"].get("0", 0)
    told += f" Without any request, and not drawn: {words.span(quiet)}"
    unknown = pool["unknown_ns"]
    return told + (f"; without a witness: {words.span(unknown)}." if unknown else ".")


def needed(pool: dict[str, Any], target_ms: int, currency: str) -> str:
    """How many engines the declared target takes, and what the rest cost."""
    name, engines, fewest = plain(pool["name"]), pool["engines"], pool["needed"]
    target = f"95 of 100 first tokens within {target_ms / 1000:g} s"
    if not engines or pool["unjudged"]:
        return (
            f"Pool {name}: nobody told how many slots its engines have, so {target} is not judged."
        )
    if not pool["requests"]:
        return f"Pool {name} had no request with a first token, so {target} is not judged."
    if fewest is None:
        return (
            f"Pool {name} misses {target}: with all {words.count(engines, 'engine')} it takes "
            f"**{_seconds(pool['p95_ms'][str(engines)])}**."
        )
    told = (
        f"For {target} pool {name} needs **{fewest} of {words.count(engines, 'engine')}**: "
        f"{_seconds(pool['p95_ms'][str(fewest)])} with {fewest}"
    )
    if fewest > 1:
        told += f", {_seconds(pool['p95_ms'][str(fewest - 1)])} with {fewest - 1}"
    if fewest < engines and pool["spare_nano"]:
        rest = words.cents(pool["spare_nano"])
        return f"{told}. Hardware and idle power of the rest cost **{rest} {currency}**."
    return f"{told}." if fewest < engines else f"{told}. None can be spared."


def _seconds(ms: int) -> str:
    return f"{ms / 1000:,.3g} s"


def gap(month: dict[str, Any]) -> str:
    """What rests on the choice of the active gap."""
    told = month["active_gap"]
    return (
        f"Pauses shorter than {words.minutes(told['gap_ns'])} count as headroom, longer ones as "
        "idle time. Half and twice the gap would tell:"
    )
