"""A second provider's cache, as plain as can be: one dictionary, one request after the other."""

from collections.abc import Iterable
from typing import Any

from analytics.cache_replay import CacheRules

Request = dict[str, Any]  # received_ns, input_tokens, prefix, prefix_tokens


def simulate(requests: Iterable[Request], rules: CacheRules) -> list[tuple[int, int] | None]:
    """What each request reads and writes, in their order; None where it told no prefix."""
    dies: dict[str, int] = {}  # the last instant at which a prefix is still there
    answers: dict[int, tuple[int, int] | None] = {}
    waiting = list(enumerate(requests))
    for place, request in sorted(waiting, key=lambda each: (each[1]["received_ns"], each[0])):
        now = request["received_ns"]
        kept = _kept(request, rules)
        there = {name for name in kept if name in dies and now <= dies[name]}
        hit = max((kept[name] for name in there), default=0)
        longest = max(kept.values(), default=0)
        for name, tokens in kept.items():
            written = rules.unit != "request" or tokens == longest
            if (name in there and rules.refreshed) or (name not in there and written):
                dies[name] = now + rules.ttl_ns
        cost = longest - hit if rules.write_billed else 0
        answers[place] = (hit, cost) if request["prefix"] else None
    return [answers[place] for place, _ in waiting]


def _kept(request: Request, rules: CacheRules) -> dict[str, int]:
    """The prefixes that the provider keeps, and how many tokens of each."""
    kept: dict[str, int] = {}
    for name, tokens in zip(request["prefix"], request["prefix_tokens"], strict=True):
        if request["input_tokens"] is not None and tokens > request["input_tokens"]:
            continue
        ours, theirs = tokens, tokens * rules.ratio_e4 // 10_000
        if rules.unit == "block":
            theirs -= theirs % rules.granularity_tokens
            ours = theirs * 10_000 // rules.ratio_e4
        if theirs > 0 and theirs >= rules.min_prefix_tokens:
            kept.setdefault(name, ours)
    return kept
