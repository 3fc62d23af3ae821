"""What a routing decision weighs and what it comes to: plain values, no behaviour of a fleet."""

from dataclasses import dataclass, field
from typing import Any, Literal, NamedTuple

from router.prefix import NO_PREFIX, Prefix

CANDIDATES_MAX = 64  # the contract's limit

Status = Literal["ok", "client_abort", "upstream_error", "timeout"]


class Asked(NamedTuple):
    """A request as the router sees it.

    `input_tokens_estimate` is the whole prompt, where the prefix does not tell it. `candidates`
    names the engines to choose between; without any, those that serve the model. `pinned` is the
    engine that something else has chosen already. `output_tokens_max` is the client's own limit.
    `common`: how many of the prefix's first keys several conversations begin with; None where that
    is not known: all of tools and system prompt, then.
    """

    prefix: Prefix = NO_PREFIX
    input_tokens_estimate: int = 0
    model: str | None = None
    candidates: tuple[str, ...] = ()
    pinned: str | None = None
    streams: bool = True
    output_tokens_max: int | None = None
    common: int | None = None

    @property
    def common_tokens(self) -> int:
        """Tokens of what several conversations begin with, estimated."""
        common = self.prefix.shared if self.common is None else self.common
        return self.prefix.tokens[common - 1] if common else 0

    @property
    def prompt_tokens(self) -> int:
        """Tokens of the whole prompt, estimated; never fewer than its prefixes have."""
        return max(self.input_tokens_estimate, self.prefix.input_tokens)


class Card(NamedTuple):
    """One engine at the instant of a decision.

    `hit_tokens` of this prompt are believed to be in its cache; `sent_tokens` of it were sent
    there before, whatever has become of them. `pending_tokens` are uncached and not yet at their
    first token. `estimate_ms` is the estimated time to the first token; prompts are computed at
    `prefill_per_s` tokens/s. `free_tokens` are believed to fit into its cache without pushing
    anything out; `last_new` numbers the decision that last brought it something cold, -1 for none.
    """

    name: str
    slots: int
    in_flight: int
    pending_tokens: int
    hit_tokens: int
    sent_tokens: int
    estimate_ms: float
    prefill_per_s: float
    free_tokens: int
    last_new: int

    def prefill_ms(self, tokens: int) -> float:
        """Time to compute so many tokens of a prompt."""
        return tokens / self.prefill_per_s * 1e3


class State(NamedTuple):
    """The engines to choose between, at least one, in the order of their declaration.

    `turn` counts the decisions made before between these same engines.
    """

    cards: tuple[Card, ...]
    turn: int


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a request. Tokens and times as the contract has them; None is unknown.

    `ttft_ns` and `duration_ns` count from the decision. `prompt_ms` is the engine's own figure for
    computing the uncached prompt. `estimated`: the engine told no tokens, and these were estimated.
    """

    status: Status
    input_tokens: int | None = None
    cache_read_tokens: int | None = None
    output_tokens: int | None = None
    ttft_ns: int | None = None
    duration_ns: int | None = None
    prompt_ms: float | None = None
    estimated: bool = False


@dataclass(slots=True, eq=False)
class Decision:
    """One choice with its reasons; what came of it is filled in at the end.

    `inferred_hit_tokens` is what the time to the first token says of the hit, where the engine says
    nothing. `regret_ms` is the time to the first token as it was, less the least that any other
    card was estimated to need: above zero, another card might have been quicker.
    """

    number: int
    policy: str
    chosen: str
    reason: str
    cards: tuple[Card, ...]
    asked: Asked
    at_ns: int
    retry: bool = False
    shadow_policy: str | None = None
    shadow: str | None = None
    actual_hit_tokens: int | None = None
    inferred_hit_tokens: int | None = None
    regret_ms: int | None = None
    tokens_per_byte: float = field(default=0.25, repr=False)

    @property
    def card(self) -> Card:
        """The chosen engine as it was."""
        return next(card for card in self.cards if card.name == self.chosen)

    @property
    def hit_tokens(self) -> int:
        """Tokens that the chosen engine was believed to have cached."""
        return self.card.hit_tokens

    def note_ttft(self, ttft_ns: int) -> None:
        """The first token came so long after the decision."""
        others = [card.estimate_ms for card in self.cards if card.name != self.chosen]
        if others:
            self.regret_ms = round(ttft_ns / 1e6 - min(others))

    def route(self) -> dict[str, Any]:
        """The decision as the event tells it; what is unknown is left out. Of too many candidates
        those are told that were or might have been chosen: the soonest."""
        told: dict[str, Any] = {
            "policy": self.policy,
            "reason": self.reason,
            "chosen": self.chosen,
            "candidates": [
                {
                    "engine": card.name,
                    "hit_tokens": card.hit_tokens,
                    "pending_tokens": card.pending_tokens,
                    "in_flight": card.in_flight,
                    "estimate_ms": round(card.estimate_ms),
                }
                for card in self._told_cards()
            ],
            "hit_tokens": self.hit_tokens,
            "actual_hit_tokens": self.actual_hit_tokens,
            "regret_ms": self.regret_ms,
            "shadow_policy": self.shadow_policy,
            "shadow": self.shadow,
        }
        return {name: value for name, value in told.items() if value is not None}

    def _told_cards(self) -> tuple[Card, ...]:
        if len(self.cards) <= CANDIDATES_MAX:
            return self.cards
        chosen = {self.chosen, self.shadow}
        ranked = sorted(self.cards, key=lambda card: (card.name not in chosen, card.estimate_ms))
        told = {card.name for card in ranked[:CANDIDATES_MAX]}
        return tuple(card for card in self.cards if card.name in told)
