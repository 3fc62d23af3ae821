"""Serves a demo day's bursts on the demo's cards: slots, queues, prefix caches, failures."""

import heapq
from collections.abc import Sequence
from dataclasses import dataclass, field
from random import Random

from collector.demo.plan import SEED, Burst, Day, Project
from collector.demo.rig import CARDS, SLOTS

SECOND_NS = 1_000_000_000
BLOCK_TOKENS = 64
PREFILL_TOKENS_PER_SECOND = 3_000
# Two slots of a card together make 200 output tokens a second; one alone is hardly faster.
SHARED_TOKENS_PER_SECOND, ALONE_TOKENS_PER_SECOND = 100, 112
CACHE_HOLDS_NS = 600 * SECOND_NS
# A router hears of nothing that a cache drops.
BELIEF_HOLDS_NS = 1_500 * SECOND_NS
STAYS_HOME = 0.75
ABORTS, FAILS = 0.012, 0.004


@dataclass(frozen=True, slots=True)
class Candidate:
    """A card as the router saw it when it chose: `hit_tokens` of the prompt believed cached,
    `pending_tokens` of others not yet at their first token, the wait as estimated."""

    hit_tokens: int
    pending_tokens: int
    in_flight: int
    estimate_ms: int


@dataclass(slots=True)
class Request:
    """One request as it went; instants in ns since the epoch. `computing` is [start, end).

    `candidates` are the cards as they were when `card` was chosen, for a `reason`;
    `boundaries` the prompt's tokens up to the end of each of its messages.
    """

    number: int
    burst: Burst
    branch: int
    card: int
    received_ns: int
    dispatch_ns: int
    start_ns: int
    first_ns: int | None
    end_ns: int
    input_tokens: int
    cache_read_tokens: int
    output_tokens: int
    status: str
    candidates: Sequence[Candidate]
    reason: str
    boundaries: Sequence[int]


@dataclass(slots=True)
class _Branch:
    burst: Burst
    number: int
    context_tokens: int
    turns_left: int
    boundaries: list[int]
    home: int | None = None
    cached_tokens: int = 0


@dataclass(slots=True)
class _Card:
    free_ns: list[int] = field(default_factory=lambda: [0] * SLOTS)
    warm_until_ns: dict[str, int] = field(default_factory=dict)
    there: list[Request] = field(default_factory=list)


def serve(day: Day) -> list[Request]:
    """Every request of the day in order of arrival. All have ended before the day does."""
    rng = Random(f"{SEED} serve {day.day}")  # noqa: S311 (reproducible by intent)
    cards = [_Card() for _ in CARDS]
    queue: list[tuple[int, int, _Branch]] = []
    for burst in day.bursts:
        for number in range(burst.branches):
            context = burst.project.shared_tokens + rng.randint(600, 3_000)
            said = [burst.project.shared_tokens, context]
            branch = _Branch(burst, number, context, burst.turns, said)
            heapq.heappush(queue, (_arrival(burst.at_ns + _ns(rng, 0.01, 1.5)), len(queue), branch))
    order = len(queue)
    done: list[Request] = []
    while queue:
        at_ns, _, branch = heapq.heappop(queue)
        request = _serve_one(len(done) + 1, at_ns, branch, cards, rng)
        if request.end_ns >= day.end_ns:
            continue
        done.append(request)
        if branch.turns_left and request.status == "ok":
            order += 1
            heapq.heappush(queue, (_arrival(request.end_ns + _ns(rng, 0.4, 7.0)), order, branch))
    return done


def _serve_one(
    number: int, at_ns: int, branch: _Branch, cards: list[_Card], rng: Random
) -> Request:
    seen = [_seen(at_ns, branch, index, card) for index, card in enumerate(cards)]
    chosen = _choose(at_ns, branch, cards, rng)
    card = cards[chosen]
    dispatch_ns = rng.randint(150_000, 900_000)
    slot = card.free_ns.index(min(card.free_ns))
    start_ns = max(at_ns + dispatch_ns, card.free_ns[slot])
    request = Request(
        number, branch.burst, branch.number, chosen, at_ns, dispatch_ns, start_ns, None, start_ns,
        branch.context_tokens, _cached(start_ns, branch, chosen, card), 0, "ok",
        seen, _reason(branch, chosen), tuple(branch.boundaries),
    )  # fmt: skip
    card.there.append(request)
    others = [free for index, free in enumerate(card.free_ns) if index != slot]
    _compute(request, any(free > start_ns for free in others), rng)
    card.free_ns[slot] = request.end_ns
    if request.status == "ok":
        _remember(request, branch, card, rng)
    branch.home = chosen
    return request


def _choose(at_ns: int, branch: _Branch, cards: list[_Card], rng: Random) -> int:
    """The card of a request: pinned, else its conversation's own, unless that one is full."""
    if branch.burst.pinned is not None:
        return branch.burst.pinned
    load = [sum(max(0, free - at_ns) for free in card.free_ns) for card in cards]
    freest = load.index(min(load))
    if branch.home is None:
        return freest
    full = min(cards[branch.home].free_ns) > at_ns
    return freest if full and rng.random() > STAYS_HOME else branch.home


def _reason(branch: _Branch, chosen: int) -> str:
    if branch.burst.pinned is not None:
        return "pinned"
    if branch.home is None:
        return "cold"
    return "home" if branch.home == chosen else "spill"


def _seen(at_ns: int, branch: _Branch, index: int, card: _Card) -> Candidate:
    """A card at the instant of a decision: what is there, and how long this one would wait."""
    card.there = [other for other in card.there if other.end_ns > at_ns]
    hit_tokens = _believed(at_ns, branch, index, card)
    new_tokens = branch.context_tokens - hit_tokens
    wait_ms = max(0, min(card.free_ns) - at_ns) // 1_000_000
    return Candidate(
        hit_tokens=hit_tokens,
        pending_tokens=sum(
            other.input_tokens - other.cache_read_tokens
            for other in card.there
            if (other.first_ns or 0) > at_ns
        ),
        in_flight=len(card.there),
        estimate_ms=wait_ms + new_tokens * 1_000 // PREFILL_TOKENS_PER_SECOND,
    )


def _believed(at_ns: int, branch: _Branch, index: int, card: _Card) -> int:
    """Prompt tokens that the router believes to be cached on a card, by its own count."""
    project = branch.burst.project
    until_ns = card.warm_until_ns.get(project.name, 0) - CACHE_HOLDS_NS + BELIEF_HOLDS_NS
    tokens = branch.cached_tokens if branch.home == index else 0
    if at_ns < until_ns:
        tokens = max(tokens, project.shared_tokens)
    return min(tokens * project.counted // 100, branch.context_tokens - 1)


def _cached(start_ns: int, branch: _Branch, chosen: int, card: _Card) -> int:
    """Prompt tokens whose computing the card's cache saves, in whole blocks."""
    project = branch.burst.project
    warm = start_ns < card.warm_until_ns.get(project.name, 0)
    tokens = branch.cached_tokens if branch.home == chosen else 0
    if warm:
        tokens = max(tokens, project.shared_tokens)
    return min(tokens, branch.context_tokens - 1) // BLOCK_TOKENS * BLOCK_TOKENS


def _compute(request: Request, shared: bool, rng: Random) -> None:
    if rng.random() < FAILS:
        request.status, request.end_ns = "upstream_error", request.start_ns + _ns(rng, 0.05, 0.4)
        return
    new_tokens = request.input_tokens - request.cache_read_tokens
    prefill_ns = new_tokens * SECOND_NS // PREFILL_TOKENS_PER_SECOND + _ns(rng, 0.02, 0.05)
    request.output_tokens = min(6_000, max(150, int(rng.lognormvariate(7.25, 0.6))))
    if rng.random() < ABORTS:
        request.status = "client_abort"
        request.output_tokens = int(request.output_tokens * rng.uniform(0.05, 0.7)) + 2
    rate = SHARED_TOKENS_PER_SECOND if shared else ALONE_TOKENS_PER_SECOND
    decode_ns = int(request.output_tokens * SECOND_NS / (rate * rng.uniform(0.97, 1.03)))
    request.first_ns = request.start_ns + prefill_ns
    request.end_ns = request.first_ns + decode_ns


def _remember(request: Request, branch: _Branch, card: _Card, rng: Random) -> None:
    """The card keeps what it computed; the conversation grows by the answer and a tool result."""
    project: Project = branch.burst.project
    card.warm_until_ns[project.name] = request.end_ns + CACHE_HOLDS_NS
    branch.cached_tokens = request.input_tokens + request.output_tokens
    branch.context_tokens = branch.cached_tokens + rng.randint(250, 2_600)
    branch.boundaries += [branch.cached_tokens, branch.context_tokens]
    branch.turns_left -= 1


def _ns(rng: Random, low_s: float, high_s: float) -> int:
    return int(rng.uniform(low_s, high_s) * SECOND_NS)


def _arrival(at_ns: int) -> int:
    """Instants travel in microseconds: one that has no finer part arrives as it was."""
    return at_ns // 1_000 * 1_000
