"""Misses and herding a second time: token by token and nanosecond by nanosecond, in plain Python.

Built on the second set of books (`rig.oracle`), without a line of `analytics`.
"""

from collections import defaultdict
from fractions import Fraction
from typing import Any

from rig.oracle import SECOND, Books, Request, ns_of, share_out

DAYS = 2 * 86_400 * SECOND
FIGURES = (
    "decisions", "hits_known", "hits_estimated", "hit_tokens", "actual_hit_tokens",
    "regret_known", "regret_estimated", "regretted", "regret_ms",
)  # fmt: skip


def causes_of(request: Request, books: Books) -> dict[str, int]:
    """The cause of each token that a cache did not serve, one token after the other."""
    event = request.event
    if event.input_tokens is None or event.cache_read_tokens is None:
        return {}
    found: dict[str, int] = defaultdict(int)
    history = rewritten_until(request, books)
    for token in range(event.cache_read_tokens, event.input_tokens):
        found[_cause(token, request, books, history)] += 1
    return dict(found)


def _cause(token: int, request: Request, books: Books, history: int) -> str:
    event = request.event
    if not event.prefix or not any(card in books.cards for card in books.cards_of(request)):
        return "untold"
    covering = {
        key for key, tokens in zip(event.prefix, event.prefix_tokens, strict=True) if tokens > token
    }
    had = [
        (other.computed, other.event.engine == event.engine)
        for other in forerunners(request, books)
        if covering & set(other.event.prefix)
    ]
    if had:
        return "evicted" if max(had)[1] else "misrouted"
    return "rewritten" if token < history else "new"


def forerunners(request: Request, books: Books) -> list[Any]:
    """Requests of the pool that had computed their prefixes before this one began to."""
    event = request.event
    seen = request.compute
    if event.ttft_ns is not None:
        seen = min(seen, ns_of(event.received_at) + event.ttft_ns)
    return [
        other
        for other in books.requests
        if other.computed is not None
        and books.pool(other) == books.pool(request)
        and request.end - DAYS <= other.computed < seen
        and other.event.prefix
    ]


def rewritten_until(request: Request, books: Books) -> int:
    """Up to which token an earlier history of the conversation had been there; 0 if it goes on."""
    event = request.event
    before = forerunners(request, books)
    known = {key for other in before for key in other.event.prefix}
    served = event.cache_read_tokens or 0
    stood = 0  # messages that are cached or were computed
    for place, (key, tokens) in enumerate(zip(event.prefix, event.prefix_tokens, strict=True), 1):
        if tokens <= served or key in known:
            stood = place
    same = [other for other in before if other.event.session == event.session is not None]
    if len(event.prefix) - stood <= 5 or not same:
        return 0
    if stood and any(other.event.prefix[-1] == event.prefix[stood - 1] for other in before):
        return 0
    latest = max(other.computed for other in same)
    (last,) = (other for other in same if other.computed == latest)
    return max(last.event.prefix_tokens)


def misses(books: Books) -> dict[str, dict[str, int]]:
    """Tokens, time and money by cause."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
    by_name = {request.name: causes_of(request, books) for request in books.requests}
    for request in books.requests:
        timed = request.event.ttft_ns is not None or request.event.operation == "embedding"
        if timed and books.start <= request.end < books.end:
            for cause, tokens in by_name[request.name].items():
                found[cause]["tokens"] += tokens
    money: dict[Any, int] = defaultdict(int)
    for line in books.money.values():
        for leaf, nano in line.items():
            money[leaf] += nano
    for leaf, ns in books.time.items():
        for figure, amount in (("ns", ns), ("cost_nano", money[leaf])):
            for cause, part in _parts(leaf[4], by_name.get(leaf[3], {}), amount).items():
                found[cause][figure] += part
    return found


def _parts(kind: str, causes: dict[str, int], amount: int) -> dict[str, int]:
    """A leaf by the tokens of its causes, in the order in which ties are broken."""
    order = {"recomputed": ("misrouted", "evicted"), "new": ("rewritten", "new", "untold")}
    if kind not in order:
        return {}
    weights = {n: causes[c] for n, c in enumerate(order[kind]) if causes.get(c)}
    if not weights:
        return {"untold": amount}
    return {order[kind][n]: part for n, part in share_out(amount, weights).items()}


def decisions(books: Books) -> dict[str, dict[str, int]]:
    """By the card that an attempt ran on first: what its decision told."""
    found: dict[str, dict[str, int]] = defaultdict(lambda: dict.fromkeys(FIGURES, 0))
    for request in ended(books):
        event = request.event
        if event.route is None:
            continue
        own = found[books.cards_of(request)[0]]
        predicted, actual, estimated = hits(event)
        own["decisions"] += 1
        own["hits_estimated"] += estimated is not None
        if predicted is not None and actual is not None:
            own["hits_known"] += 1
            own["hit_tokens"] += predicted
            own["actual_hit_tokens"] += actual
        if (regret := event.route.regret_ms) is not None:
            own["regret_estimated" if estimated is not None else "regret_known"] += 1
            if estimated is None and regret > 0:
                own["regretted"] += 1
                own["regret_ms"] += regret
    return dict(found)


def hits(event: Any) -> tuple[int | None, int | None, int | None]:
    """The hit of a decision as predicted, as reported, and as estimated where nobody reported."""
    told = event.route
    believed = [c.hit_tokens for c in told.candidates if c.engine == told.chosen]
    predicted = told.hit_tokens if told.hit_tokens is not None else next(iter(believed), None)
    if told.actual_hit_tokens is not None:
        return predicted, told.actual_hit_tokens, None
    if event.usage_source == "estimated":
        return predicted, None, event.cache_read_tokens
    return predicted, event.cache_read_tokens, None


def requests(books: Books) -> dict[str, int]:
    """Requests that ended, by card."""
    found: dict[str, int] = defaultdict(int)
    for request in ended(books):
        found[books.cards_of(request)[0]] += 1
    return dict(found)


def ended(books: Books) -> list[Request]:
    """The requests that ended within the books."""
    return [each for each in books.requests if books.start <= each.end < books.end]


def stranded(books: Books) -> list[tuple[int, int, int, Fraction]]:
    """Of each stretch with a card stranded: from, to, card time and cost, before rounding."""
    pieces = sorted(
        (a, b, card)
        for card, segments in books.segments.items()
        for a, b, state in segments
        if state == "stranded" and books.within(a)
    )
    found: list[tuple[int, int, int, Fraction]] = []
    for a, b, card in pieces:
        cost = _cost(books, card, a, b)
        if found and a <= found[-1][1]:
            start, end, ns, nano = found[-1]
            found[-1] = (start, max(end, b), ns + b - a, nano + cost)
        else:
            found.append((a, b, b - a, cost))
    return found


def _cost(books: Books, card: str, a: int, b: int) -> Fraction:
    bucket = a // (900 * SECOND) * (900 * SECOND)
    leaf = (card, bucket, "stranded", "", "")
    whole = sum(line.get(leaf, 0) for line in books.money.values())
    return Fraction(whole * (b - a), books.time[leaf])
