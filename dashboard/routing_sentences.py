"""The routing page's sentences, from a month's figures; only their wording is made here."""

import datetime as dt
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from dashboard import words
from dashboard.request_charts import second
from dashboard.sentences import plain

Told = Mapping[str, Any]


def money(month: Told, nano: int | None, ns: int) -> str:
    """What some card time cost; of time that nobody has priced or read zero is not known to be
    the cost."""
    if nano is None or (month["at_least"] and not nano and ns):
        return words.UNKNOWN
    return words.amount(nano)


def at_stake(month: Told) -> str:
    """What another choice of card might have saved, for the headline."""
    told = month["routing"]["at_stake"]
    if told["nano"]:
        return words.headline(told["nano"])
    known = told["misrouted_nano"] is not None and not (month["at_least"] and _ns(month))
    return words.headline(0) if known else words.UNKNOWN


def _ns(month: Told) -> int:
    """The card time at stake."""
    told = month["routing"]
    again = told["misses"]["causes"]["misrouted"]["ns"] if told["misses"] else 0
    return int(told["herding"]["stranded_ns"] + again)


def answer(month: Told) -> str:
    """What is at stake: in parts, and as a share of the period's cost."""
    told, total = month["routing"]["at_stake"], month["cost_nano"]["total"]
    misses, stranded_ns = month["routing"]["misses"], month["routing"]["herding"]["stranded_ns"]
    stood = "no card stood by beside a queue"
    if stranded_ns:
        stood = (
            f"{money(month, told['herding_nano'], stranded_ns)} while cards stood by beside a queue"
        )
    if misses is None:
        return (
            f"As far as it is known: {stood}; what prompts cost that another card had computed is "
            "not, as none told its prefix keys."
        )
    again_ns = misses["causes"]["misrouted"]["ns"]
    again = "no prompt that another card had computed"
    if again_ns:
        cost = money(month, told["misrouted_nano"], again_ns)
        again = f"{cost} for prompts that another card had computed"
    part = f" {words.share(told['nano'] / total)} of all cost" if total > 0 else ""
    return (
        f"At most that,{part}: {stood}, {again}. No verdict: to wait for a warm card, or to send "
        "on to a free one, can be right."
    )


def shares(told: Told, names: Mapping[str, str]) -> str:
    """Who got most and who least."""
    cards = [each for each in told["requests_by_card"] if each["name"] in names]
    if len(cards) == 1:
        return f"All requests ran on {plain(names[cards[0]['name']])}."
    first, last = cards[0], cards[-1]
    return (
        f"{plain(names[first['name']])} got most, **{words.share(first['share'])}** of the "
        f"requests, {plain(names[last['name']])} least, {words.share(last['share'])}. "
        "Each day's requests by the card that they ended on:"
    )


def hits(told: Told) -> str:
    """How much of what was predicted was found."""
    found = told["hits"]
    if found is None:
        return f"Unknown: {told['unknown']['hits']}."
    predicted, actual = found["hit_tokens"], found["actual_hit_tokens"]
    ratio = f"**{words.share(actual / predicted)}**" if predicted else "none"
    return (
        f"{words.count(found['decisions'], 'decision')} told both: predicted were "
        f"{words.count(predicted, 'token')}, found {words.count(actual)}, {ratio} of them. "
        "On the dashed line a hit was as predicted, below it less was found; the larger a circle, "
        f"the more decisions.{estimated(told)}"
    )


def estimated(told: Told) -> str:
    """What is left out, as nobody reported it."""
    number = told["estimated"]["hits"]
    if not number:
        return ""
    return (
        f" Left out: {words.count(number, 'decision')} whose engine reported no hit, so that it "
        "was only estimated."
    )


def regret(told: Told) -> str:
    """How often another card might have been quicker, and by how much."""
    found = told["regret"]
    if found is None:
        return f"Unknown: {told['unknown']['regret']}."
    if not found["regretted"]:
        return f"In none of {words.count(found['decisions'], 'decision')}."
    mean = Decimal(found["regret_ms"]) / found["regretted"] / 1000
    left = told["estimated"]["regret"]
    apart = f" Left out: {words.count(left, 'decision')} with an estimated hit." if left else ""
    return (
        f"In **{words.count(found['regretted'])}** of {words.count(found['decisions'])} decisions "
        f"({words.share(found['regretted'] / found['decisions'])}) the first token came later than "
        f"another card was estimated to need, by {mean:.1f} s on average; the others, in grey, "
        f"did not.{apart}"
    )


def shadows(told: Told) -> list[str]:
    """What a second policy would have done, one sentence for each pair."""
    found = []
    for each in told["shadow"] or ():
        agreed = words.share(each["agreed"] / each["decisions"])
        line = (
            f"In the shadow, {plain(each['shadow_policy'])} would have chosen as "
            f"{plain(each['policy'])} did in **{agreed}** of {words.count(each['decisions'])} "
            "decisions."
        )
        if each["estimated"]:
            own, other = (
                Decimal(each[name]) / each["estimated"] / 1000
                for name in ("chosen_ms", "shadow_ms")
            )
            line += (
                f" Estimated time to the first token, on average: {own:.2f} s as chosen, "
                f"{other:.2f} s in the shadow."
            )
        found.append(line)
    return found


def causes(month: Told) -> str:
    """What computing prompts cost because they were not in the right cache."""
    misses = month["routing"]["misses"]
    if misses is None:
        return f"Unknown: {month['routing']['unknown']['misses']}."
    told = misses["causes"]
    again = [told[cause]["cost_nano"] for cause in ("misrouted", "evicted", "rewritten")]
    whole, ns = (sum(sums[figure] for sums in told.values()) for figure in ("cost_nano", "ns"))
    share = words.share(sum(again) / whole) if whole > 0 else words.UNKNOWN
    line = (
        f"Computing prompts cost {money(month, whole, ns)} {month['currency']}; **{share}** of it, "
        "in blue, for what had been computed before or for histories that were rewritten."
    )
    untold = told["untold"]
    if untold["tokens"]:
        line += f" Of {words.count(untold['tokens'], 'token')} nobody told why, hatched."
    return line


def herding(month: Told) -> str:
    """How often requests queued beside idle cards, and what that cost."""
    told = month["routing"]["herding"]
    threshold, short = words.span(told["threshold_ns"]), told["short"]
    brief = words.count(short["stretches"], "shorter spell")
    if not told["episodes"] and not short["stretches"]:
        return "No request waited while a card of its pool stood by."
    rest = (
        f"{brief} cost {money(month, short['cost_nano'], short['stranded_ns'])} "
        f"{month['currency']} together."
        if short["stretches"]
        else "There was no shorter one."
    )
    if not told["episodes"]:
        return f"No request waited {threshold} or longer while a card stood by; {rest}"
    nano, ns = (
        sum(each[name] for each in told["episodes"]) for name in ("cost_nano", "stranded_ns")
    )
    cost = money(month, nano, ns)
    number = words.count(len(told["episodes"]), "time")
    return (
        f"**{number}** requests waited {threshold} or longer while a card of their pool stood by: "
        f"**{cost} {month['currency']}** for the cards that stood by. {rest}"
    )


def episode(told: Told, names: Mapping[str, str], zone: dt.tzinfo, from_ns: int, to_ns: int) -> str:
    """One episode, in a sentence."""
    queued, idle = (
        plain(" and ".join(names.get(card, card) for card in told[key]))
        for key in ("queued", "stood_by")
    )
    day = dt.datetime.fromtimestamp(from_ns // words.NANO, zone).date()
    return (
        f"{words.day_name(day.isoformat())}, {second(from_ns, zone)}, for "
        f"{words.span(to_ns - from_ns)}: {words.count(told['requests'], 'request')} waited on "
        f"{queued} while {idle} stood by."
    )
