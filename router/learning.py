"""What an answer teaches of the card that gave it: its speed, and what its cache really holds."""

from router.decision import Decision, Outcome
from router.live_card import LiveCard
from router.waiting import Flight

MISSED = 0.5  # of the predicted hit; less than that, and the cache is not what it was believed
SHRINK, SHRINK_MIN = 0.2, 0.05
BEYOND = 0.1  # of the prompt was cached although it was believed gone
GROW_FAST, GROW_SLOW = 0.05, 0.001
TOLD_TOKENS_MIN = 256


def learn(
    card: LiveCard, flight: Flight, decision: Decision, outcome: Outcome, ttft_ns: int | None
) -> None:
    """Take in an answer that came to its end; `ttft_ns` counts from the decision."""
    if outcome.output_tokens is not None:
        card.output.learn(outcome.output_tokens)
    _learn_prefill(card, flight, outcome, ttft_ns)
    actual = _actual_hit(card, flight, decision, outcome, ttft_ns)
    if actual is not None:
        if outcome.cache_read_tokens is None:
            decision.inferred_hit_tokens = actual[0]
        _correct(card, flight, decision, *actual)


def _learn_prefill(card: LiveCard, flight: Flight, outcome: Outcome, ttft_ns: int | None) -> None:
    """From the engine's own figure, else from the first token of a request that was alone."""
    if outcome.input_tokens is None:
        return
    cached = outcome.cache_read_tokens
    if cached is None:
        if flight.keys_before:
            return  # how much it computed is not known
        cached = 0
    if outcome.prompt_ms is not None:
        card.prefill.learn(outcome.input_tokens - cached, outcome.prompt_ms / 1e3)
    elif ttft_ns is not None and flight.alone:
        card.prefill.learn(outcome.input_tokens - cached, ttft_ns / 1e9)


def _correct(
    card: LiveCard, flight: Flight, decision: Decision, hit_tokens: int, prompt_tokens: int
) -> None:
    """Compare the predicted with the actual hit, as shares of the prompt; believe accordingly.

    A miss says that the cache cannot hold the prefix and all that was used since its last use: the
    budget goes a fifth of the way down to that, by a twentieth at least. No more, as a card wrongly
    believed warm costs less than one wrongly believed cold. The prompt's own prefixes stay, as the
    engine has just computed them. A hit as predicted lets the budget grow a little; one far beyond
    what was predicted, by a good step.
    """
    if decision.hit_tokens < TOLD_TOKENS_MIN and hit_tokens < TOLD_TOKENS_MIN:
        return
    asked = decision.asked
    predicted = decision.hit_tokens / max(1, asked.prompt_tokens)
    actually = hit_tokens / max(1, prompt_tokens)
    # What all branches share is nearly always there, and would hide that the rest is gone.
    shared = asked.prefix.shared_tokens / max(1, asked.prompt_tokens)
    common = min(shared, predicted, actually)
    index = card.index
    if actually - common < MISSED * (predicted - common):
        budget = index.budget_tokens
        spare = budget - index.used_since(flight.last_use)
        index.shrink(budget - round(max(SHRINK * spare, SHRINK_MIN * budget)))
    else:
        share = GROW_FAST if actually - predicted > BEYOND else GROW_SLOW
        index.grow(round(share * index.budget_max_tokens))


def _actual_hit(
    card: LiveCard, flight: Flight, decision: Decision, outcome: Outcome, ttft_ns: int | None
) -> tuple[int, int] | None:
    """(tokens from cache, tokens of the prompt): reported, else inferred from the time taken."""
    prompt_tokens = outcome.input_tokens or decision.asked.prompt_tokens
    if outcome.cache_read_tokens is not None:
        return min(outcome.cache_read_tokens, prompt_tokens), prompt_tokens
    rate = card.prefill.median_per_s
    if rate is None or ttft_ns is None or not flight.alone:
        return None
    return max(0, prompt_tokens - round(ttft_ns / 1e9 * rate)), prompt_tokens
