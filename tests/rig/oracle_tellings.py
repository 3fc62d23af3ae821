"""Which tellings are of the same attempt, a second time: one telling after the other, by hand."""

from collections import defaultdict
from collections.abc import Iterable

import msgspec

from collector.clock import to_ns
from collector.events import Attempt

NEARBY_NS = 300 * 10**9
USAGE = ["engine", "derived", "estimated", "missing"]
TOKENS = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
)  # fmt: skip
LABELS = ("model", "project", "session", "key", "wait_ns", "route")


def rank(attempt: Attempt) -> tuple[int, str, str]:
    """Nearest to the engine first."""
    source = attempt.source
    if "litellm" in source:
        return 3, *name(attempt)
    near = ["tap", "router", "_log", "nothing", "otlp", ""]
    return next(n for n, word in enumerate(near) if word in source), *name(attempt)


def name(attempt: Attempt) -> tuple[str, str]:
    return attempt.source, attempt.event_id


def began(attempt: Attempt) -> int:
    return to_ns(attempt.received_at)


def ended(attempt: Attempt) -> int:
    return began(attempt) + attempt.duration_ns


def one_each(told: Iterable[Attempt]) -> list[Attempt]:
    """Each attempt once, made of all that was told of it."""
    attempts: list[list[Attempt]] = []
    by_source: dict[str, list[Attempt]] = defaultdict(list)
    for attempt in sorted(told, key=rank):
        by_source[attempt.source].append(attempt)
    for own in by_source.values():
        taken: dict[int, Attempt] = {}
        for field in ("request_id", "response_id"):
            asking = [a for a in own if a not in taken.values() and getattr(a, field) is not None]
            wishes = [(found, a) for a in asking if (found := _nearest(a, attempts, field))]
            for (_, _, index), a in sorted(wishes, key=lambda w: (w[0][0], w[0][1], rank(w[1]))):
                taken.setdefault(index, a)
        for index, a in taken.items():
            attempts[index].append(a)
        attempts += [[a] for a in own if a not in taken.values()]
    return [_made(tellings) for tellings in attempts]


def _nearest(a: Attempt, attempts: list[list[Attempt]], field: str) -> tuple[int, bool, int] | None:
    """(how far apart they ended, whether the other was over earlier, which) of the nearest."""
    found = [
        (abs(ended(a) - ended(other)), ended(other) < ended(a), rank(tellings[0]), index, other)
        for index, tellings in enumerate(attempts)
        for other in tellings
        if getattr(other, field) == getattr(a, field)
    ]
    if not found:
        return None
    apart, earlier, _, index, other = min(found, key=lambda f: f[:3])
    same = [f[4] for f in found if f[:2] == (apart, earlier) and f[3] == index]
    other = min(same, key=rank)
    overlap = began(other) <= ended(a) and began(a) <= ended(other)
    return (apart, earlier, index) if overlap and apart <= NEARBY_NS else None


def _made(tellings: list[Attempt]) -> Attempt:
    first, *more = sorted(tellings, key=rank)
    made = {field: _first(tellings, field) for field in LABELS}
    by_usage = sorted(tellings, key=lambda a: (USAGE.index(a.usage_source), rank(a)))
    made |= {field: _first(by_usage, field) for field in TOKENS}
    counted = [a for a in by_usage if a.output_tokens is not None]
    made["usage_source"] = (counted or by_usage)[0].usage_source
    made["gpus"] = next((a.gpus for a in [first, *more] if a.gpus), [])
    keyed = next((a for a in [first, *more] if a.prefix), first)
    made |= {"prefix": keyed.prefix, "prefix_tokens": keyed.prefix_tokens}
    ttft = _first([first, *more], "ttft_ns")
    if ttft is not None and first.ttft_ns is None:
        ttft = min(ttft, first.duration_ns)
    return msgspec.structs.replace(first, ttft_ns=ttft, **made)


def _first(tellings: list[Attempt], field: str) -> object:
    ordered = tellings if field in TOKENS else sorted(tellings, key=rank)
    return next((v for a in ordered if (v := getattr(a, field)) is not None), None)
