"""What routing came to, in words: where requests went, what was cached, what waited, what was
computed again."""

from collections.abc import Iterable, Mapping
from typing import Any

from analytics.render.parts import Part, Row
from analytics.render.rounding import percent

HOUR_NS = 3_600_000_000_000
CAUSES = {
    "misrouted": "computed on another card",
    "evicted": "lost by its own card",
    "rewritten": "history rewritten",
}


def section(month: Mapping[str, Any]) -> Iterable[Part]:
    """A few lines where a decision was told, a card stood by or a prefix was computed again."""
    told = month.get("routing")  # a month that was closed earlier tells none
    rows = list(_rows(month, told)) if told else []
    if rows:
        yield f"Routing, and what it cost in {month['currency']}"
        yield from rows


def _rows(month: Mapping[str, Any], told: Mapping[str, Any]) -> Iterable[Row]:
    if told["decisions"]:
        yield Row("decisions", (f"{told['decisions']:,}", *_reasons(told)))
        yield Row("cached, predicted and found", _hits(told["hits"]))
        yield Row("might have been quicker", _regret(told["regret"]))
        if estimated := told.get("estimated", {}).get("hits"):
            yield Row("cached, but only estimated", (_count(estimated, "decision"),))
    if episodes := told["herding"]["episodes"]:
        hours = sum(each["stranded_ns"] for each in episodes) / HOUR_NS
        cost = sum(each["cost_nano"] for each in episodes)
        figures = _count(len(episodes), "episode"), f"{hours:,.2f} h"
        yield Row("queued beside idle cards", (*figures, _money(month, cost)))
    if told["misses"] is not None:
        for cause, label in CAUSES.items():
            sums = told["misses"]["causes"][cause]
            if sums["tokens"]:
                figures = f"{sums['tokens']:,} tokens", f"{sums['ns'] / HOUR_NS:,.2f} h"
                yield Row(label, (*figures, _money(month, sums["cost_nano"])))
    elif told["decisions"]:
        yield Row("computed again", ("unknown",))


def _reasons(told: Mapping[str, Any]) -> Iterable[str]:
    """The commonest reasons, of all policies together."""
    counts: dict[str, int] = {}
    for policy in told["by_policy"]:
        for reason in policy["by_reason"]:
            counts[reason["name"]] = counts.get(reason["name"], 0) + reason["decisions"]
    ordered = sorted(counts.items(), key=lambda each: (-each[1], each[0]))
    return (f"{name} {percent(count / told['decisions'], 0)}" for name, count in ordered[:3])


def _hits(hits: Mapping[str, Any] | None) -> tuple[str, ...]:
    if hits is None:
        return ("unknown",)
    return f"{hits['hit_tokens']:,} tokens", f"{hits['actual_hit_tokens']:,} tokens"


def _regret(regret: Mapping[str, Any] | None) -> tuple[str, ...]:
    if regret is None:
        return ("unknown",)
    return _count(regret["regretted"], "decision"), f"{regret['regret_ms'] / 3.6e6:,.2f} h"


def _count(number: int, what: str) -> str:
    return f"1 {what}" if number == 1 else f"{number:,} {what}s"


def _money(month: Mapping[str, Any], nano: int) -> str:
    # A part that nobody has priced or read is not zero.
    return "unknown" if month["at_least"] and not nano else f"{nano / 1e9:,.2f}"
