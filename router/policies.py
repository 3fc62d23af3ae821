"""Routing policies: pure functions of what is known at the instant, shared by router and replay.

Each takes the state, the request and a source of chance, and returns the engine with a reason:
`home` (it has the prompt's beginning cached), `spill` (home is too busy), `cold` (nothing useful
is cached), `balance` (by load alone), `random`. `docs/routing.md` says where the rules come from.
"""

import hashlib
from collections.abc import Callable, Sequence
from functools import partial
from random import Random

from router.decision import Asked, Card, State

Choice = tuple[str, str]
Cost = Callable[[Card], float | tuple[float, ...]]
Policy = Callable[[State, Asked, Random], Choice]

EVICTED = 0.3  # of what is pushed out of a cache is asked for again
NEARLY = 1.05  # estimates that differ by less are the same
HELD_UP = 2.0  # a prompt holds up those that are there, and about as many that come meanwhile
SGLANG_CACHE_THRESHOLD = 0.3
SGLANG_BALANCE_ABS = 64
SGLANG_BALANCE_REL = 1.5
SMG_BALANCE_ABS = 64.0
SMG_BALANCE_REL = 1.5
LOAD_AWARE_BETA = 1.0
TWO_CANDIDATES_SLO_MS = 5000.0


def estimated_wait(state: State, asked: Asked, rng: Random) -> Choice:
    """Home to the deepest useful prefix, else where the least time is spent waiting by all.

    Useful is what goes beyond a beginning that several conversations have in common. A home is left
    when it is full and busier than the mean, or when its first token would take longer than to
    compute the whole prompt anew. Then the card counts where the estimated time to the first token
    is least, together with the time by which computing this prompt holds up the others there.
    """
    cards = state.cards
    deepest = max(card.hit_tokens for card in cards)
    if deepest > asked.common_tokens:
        homes = [card for card in cards if card.hit_tokens == deepest]
        home = _least(homes, lambda card: _all_wait_ms(card, asked), rng)
        roomy = home.in_flight < home.slots or home.in_flight <= _mean_in_flight(cards)
        if roomy and home.estimate_ms <= home.prefill_ms(asked.prompt_tokens):
            return home.name, "home"
    best = _nearly_least(cards, asked, rng)
    if deepest <= asked.common_tokens:
        return best.name, "cold"
    return best.name, "home" if best.hit_tokens == deepest else "spill"


def round_robin(state: State, asked: Asked, rng: Random) -> Choice:
    """Each in its turn."""
    return state.cards[state.turn % len(state.cards)].name, "balance"


def least_requests(state: State, asked: Asked, rng: Random) -> Choice:
    """The fewest requests in flight; ties by chance."""
    return _least(state.cards, lambda card: card.in_flight, rng).name, "balance"


def power_of_two(state: State, asked: Asked, rng: Random) -> Choice:
    """The less busy of two taken by chance."""
    two = rng.sample(state.cards, min(2, len(state.cards)))
    return min(two, key=lambda card: card.in_flight).name, "random"


def longest_prefix(state: State, asked: Asked, rng: Random) -> Choice:
    """The deepest prefix whatever the load; among equals the fewest requests in flight."""
    best = _least(state.cards, lambda card: (-card.hit_tokens, card.in_flight), rng)
    return best.name, "home" if best.hit_tokens else "cold"


def sglang_cache_aware(
    state: State,
    asked: Asked,
    rng: Random,
    *,
    cache_threshold: float = SGLANG_CACHE_THRESHOLD,
    balance_abs: int = SGLANG_BALANCE_ABS,
    balance_rel: float = SGLANG_BALANCE_REL,
) -> Choice:
    """sglang-router 0.3: by load when out of balance, else by the longest text sent before.

    Out of balance: max − min > `balance_abs` and max > `balance_rel` × min in flight. In balance:
    the card with the longest match if it covers more than `cache_threshold` of the text. Else the
    least loaded; ties go to the first.
    """
    loads = [card.in_flight for card in state.cards]
    least = min(state.cards, key=lambda card: card.in_flight)
    if max(loads) - min(loads) > balance_abs and max(loads) > balance_rel * min(loads):
        return least.name, "balance"
    best = max(state.cards, key=lambda card: card.sent_tokens)
    if best.sent_tokens > cache_threshold * asked.prompt_tokens:
        return best.name, "home"
    return least.name, "cold"


def two_candidates(
    state: State, asked: Asked, rng: Random, *, slo_ms: float = TWO_CANDIDATES_SLO_MS
) -> Choice:
    """DualMap: two engines by hashes of the conversation's beginning; of them the warmer.

    Unless its estimate misses the objective; then the sooner of the two. A request without
    prefixes goes to the least busy.
    """
    if not asked.prefix.keys:
        return least_requests(state, asked, rng)
    # The first message beyond tools and system prompt: what all share would map all to one pair.
    root = asked.prefix.keys[min(asked.prefix.shared, len(asked.prefix.keys) - 1)]
    pair = sorted(state.cards, key=lambda card: _rank(root, card.name))[:2]
    warm = max(pair, key=lambda card: (card.hit_tokens, -card.estimate_ms))
    if warm.estimate_ms <= slo_ms:
        return warm.name, "home" if warm.hit_tokens else "cold"
    soon = min(pair, key=lambda card: card.estimate_ms)
    return soon.name, "home" if soon is warm else "spill"


def load_aware(state: State, asked: Asked, rng: Random, *, beta: float = LOAD_AWARE_BETA) -> Choice:
    """vLLM production-stack: matched share of the prompt less `beta` × load relative to the mean.

    score = matched ÷ prompt − beta × (load − mean) ÷ max(1, mean); the highest, ties by chance.
    """
    mean = _mean_in_flight(state.cards)
    prompt = max(1, asked.prompt_tokens)

    def penalty(card: Card) -> float:
        return beta * (card.in_flight - mean) / max(1.0, mean) - card.sent_tokens / prompt

    best = _least(state.cards, penalty, rng)
    return best.name, "home" if best.sent_tokens else "balance"


def smg_cache_aware(
    state: State,
    asked: Asked,
    rng: Random,
    *,
    balance_abs: float = SMG_BALANCE_ABS,
    balance_rel: float = SMG_BALANCE_REL,
) -> Choice:
    """SMG: the least busy of those that were sent the longest match, unless it is overloaded.

    Overloaded: in flight > `balance_rel` × mean and > mean + margin. The margin is `balance_abs`,
    at most two standard deviations of what chance puts around the mean, yet no less than four.
    """
    least = min(state.cards, key=lambda card: card.in_flight)
    deepest = max(card.sent_tokens for card in state.cards)
    if deepest <= SGLANG_CACHE_THRESHOLD * asked.prompt_tokens:
        return least.name, "cold"
    homes = [card for card in state.cards if card.sent_tokens == deepest]
    home = min(homes, key=lambda card: card.in_flight)
    mean = _mean_in_flight(state.cards)
    margin = min(balance_abs, max(4.0, 2 * mean**0.5))
    if home.in_flight > balance_rel * mean and home.in_flight > mean + margin:
        return least.name, "spill"
    return home.name, "home"


def lmetric(state: State, asked: Asked, rng: Random) -> Choice:
    """LMetric: the least product of uncached tokens to compute and requests in flight.

    Both count this request too: a product that a zero makes blind ranks nothing.
    """

    def product(card: Card) -> float:
        new_tokens = card.pending_tokens + asked.prompt_tokens - card.hit_tokens
        return (new_tokens + 1) * (card.in_flight + 1)

    best = _least(state.cards, product, rng)
    return best.name, "home" if best.hit_tokens else "balance"


POLICIES: dict[str, Policy] = {
    "estimated_wait": estimated_wait,
    "round_robin": round_robin,
    "least_requests": least_requests,
    "longest_prefix": longest_prefix,
    "sglang_cache_aware": sglang_cache_aware,
    "two_candidates": two_candidates,
    "load_aware": load_aware,
    "power_of_two": power_of_two,
    "sglang_balance_0": partial(sglang_cache_aware, balance_abs=0),
    "smg_cache_aware": smg_cache_aware,
    "smg_balance_0": partial(smg_cache_aware, balance_abs=0),
    "lmetric": lmetric,
}
# Their published rules remember all that was sent and never hear from the engine.
REMEMBER_ALL = frozenset(
    {"sglang_cache_aware", "sglang_balance_0", "smg_cache_aware", "smg_balance_0", "load_aware"}
)


def _least(cards: Sequence[Card], cost: Cost, rng: Random) -> Card:
    costs = [cost(card) for card in cards]
    least = min(costs)
    best = [card for card, own in zip(cards, costs, strict=True) if own == least]
    return best[0] if len(best) == 1 else rng.choice(best)


def _all_wait_ms(card: Card, asked: Asked) -> float:
    """Time to this request's first token, and by how much its prompt holds up all others.

    What several conversations begin with counts as cached everywhere: to compute it once on each
    card pays off soon, and who does not goes on filling one cache alone. What a prompt pushes out
    of a full cache may have to be computed again.
    """
    common_ms = card.prefill_ms(max(0, asked.common_tokens - card.hit_tokens))
    new_tokens = asked.prompt_tokens - max(card.hit_tokens, asked.common_tokens)
    held_up_ms = HELD_UP * card.in_flight * card.prefill_ms(new_tokens)
    evicted_ms = EVICTED * card.prefill_ms(max(0, new_tokens - card.free_tokens))
    return max(0.0, card.estimate_ms - common_ms) + held_up_ms + evicted_ms


def _nearly_least(cards: Sequence[Card], asked: Asked, rng: Random) -> Card:
    """Of those that cost hardly more than the least, the one that was given nothing new longest.

    Else the card that looks a trifle quicker than its equals would get all that is new, and the
    other caches would stay empty. Ties by chance.
    """
    costs = [_all_wait_ms(card, asked) for card in cards]
    near = NEARLY * min(costs)
    equal = [card for card, own in zip(cards, costs, strict=True) if own <= near]
    return _least(equal, lambda card: card.last_new, rng)


def _mean_in_flight(cards: Sequence[Card]) -> float:
    return sum(card.in_flight for card in cards) / len(cards)


def _rank(root: str, engine: str) -> bytes:
    """Rendezvous hashing: an engine that goes away moves nobody else's pair."""
    return hashlib.blake2b(f"{root}\0{engine}".encode(), digest_size=8).digest()
