"""What must hold of the routing figures of a month: its parts are the month's own figures."""

from collections.abc import Iterable, Mapping
from typing import Any

from analytics.group_identities import Pairs
from analytics.misses import CAUSES, KINDS


def routed(month: Mapping[str, Any]) -> Pairs:
    """Herding is the stranded time, misses are the prefill, decisions are told once."""
    told = month["routing"]
    pairs = [*_herding(month, told["herding"]), *_decisions(month, told)]
    pairs.append(_at_stake(month, told["at_stake"]))
    if told["misses"] is not None:
        pairs += _misses(month, told["misses"])
    return [(f"routing, {what}", *sides) for what, *sides in pairs]


def _at_stake(month: Mapping[str, Any], told: Mapping[str, Any]) -> tuple[str, int, int]:
    misses = month["routing"]["misses"]
    misrouted = misses["causes"]["misrouted"]["cost_nano"] if misses else 0
    parts = month["states_cost_nano"]["stranded"] + misrouted
    return "stranded + misrouted = at stake", told["nano"], parts


def _herding(month: Mapping[str, Any], herding: Mapping[str, Any]) -> Pairs:
    parts = [*herding["episodes"], herding["short"]]
    stranded = {
        "stranded_ns": month["states_ns"]["stranded"],
        "cost_nano": month["states_cost_nano"]["stranded"],
    }
    return [
        (f"Σ episodes + short = {figure} stranded", _sum(parts, figure), whole)
        for figure, whole in stranded.items()
    ]


def _misses(month: Mapping[str, Any], misses: Mapping[str, Any]) -> Pairs:
    """misrouted + evicted = recomputed and rewritten + new + untold = new: tokens, time, cost."""
    causes, pairs = misses["causes"], []
    for kind, parts in KINDS.items():
        whole = {
            "tokens": month["tokens"][f"split_{kind}"] or 0,
            "ns": month["kinds_ns"][kind],
            "cost_nano": month["kinds_cost_nano"][kind],
        }
        for figure, amount in whole.items():
            shared = _sum((causes[cause] for cause in parts), figure)
            pairs.append((f"{' + '.join(parts)} = {kind}, {figure}", shared, amount))
    for cause in CAUSES:
        own = [row["causes"][cause] for row in misses["by_card"]]
        for figure, amount in causes[cause].items():
            cards = _sum((each for each in own if each is not None), figure)
            pairs.append((f"Σ cards = {cause}, {figure}", cards, amount))
    return pairs


def _decisions(month: Mapping[str, Any], told: Mapping[str, Any]) -> Pairs:
    requests = month["tokens"]["requests"]
    pairs: Pairs = [
        ("Σ cards = decisions", _sum(told["by_card"], "decisions"), told["decisions"]),
        ("Σ policies = decisions", _sum(told["by_policy"], "decisions"), told["decisions"]),
        ("Σ requests by card = requests", _sum(told["requests_by_card"], "requests"), requests),
        *(
            (f"Σ requests {name} = requests", sum(_requests(told[part])), requests)
            for part, name in (("by_day", "by day"), ("over_time", "over time"))
        ),
    ]
    for name in ("hits", "regret"):
        cards = _sum(told["by_card"], f"{name}_estimated")
        pairs.append((f"Σ cards = estimated {name}", cards, told["estimated"][name]))
    for policy in told["by_policy"]:
        reasons = _sum(policy["by_reason"], "decisions")
        pairs.append((f"Σ reasons of {policy['name']}", reasons, policy["decisions"]))
    for part, figures in (
        ("hits", {"decisions": "hits_known", "hit_tokens": "hit_tokens",
                  "actual_hit_tokens": "actual_hit_tokens"}),
        ("regret", {"decisions": "regret_known", "regretted": "regretted",
                    "regret_ms": "regret_ms"}),
    ):  # fmt: skip
        for figure, own in figures.items():
            whole = 0 if told[part] is None else told[part][figure]
            pairs.append((f"Σ cards = {part}, {figure}", _sum(told["by_card"], own), whole))
    return pairs


def _requests(parts: Iterable[Mapping[str, Any]]) -> Iterable[int]:
    return (sum(each["requests"].values()) for each in parts)


def _sum(rows: Iterable[Mapping[str, Any]], figure: str) -> int:
    return sum(row[figure] or 0 for row in rows)
