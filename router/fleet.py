"""The fleet: decides for each request, counts what runs where, and learns from the answers.

For one event loop: no I/O, no clock, no locks; each call is whole before the next. Times are on
the boot clock, ns. The same fleet serves the router and, fed with recorded requests, a replay.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from random import Random

from router.beginnings import Beginnings
from router.decision import Asked, Decision, Outcome, State
from router.learning import TOLD_TOKENS_MIN, learn
from router.live_card import LiveCard
from router.policies import POLICIES, REMEMBER_ALL
from router.rates import OUTPUT_TOKENS_MIN, TOKENS_PER_BYTE_PRIOR, Mean

INDEX_TOKENS = 524_288


class NoOtherEngine(LookupError):
    """A request cannot be tried elsewhere."""


@dataclass(frozen=True, slots=True)
class FleetEngine:
    """An engine to choose: its declared slots (None: learned), its pool and its model."""

    name: str
    slots: int | None = None
    pool: str = "default"
    model: str | None = None


class Fleet:
    """All engines of a router, and the policy that chooses between them."""

    def __init__(
        self,
        engines: Sequence[FleetEngine],
        policy: str,
        *,
        rng: Random,
        index_tokens: int = INDEX_TOKENS,
        shadow: str | None = None,
    ) -> None:
        """`shadow`: a policy whose choices are noted beside those made.

        `index_tokens`: the largest prefix cache that any card is believed to have.
        Raises ValueError for an unknown policy, a name given twice, or no engine at all.
        """
        for name in (policy, shadow):
            if name is not None and name not in POLICIES:
                raise ValueError(f"no policy is called {name!r}; choose of {', '.join(POLICIES)}")
        names = [engine.name for engine in engines]
        if not names or len(set(names)) < len(names):
            raise ValueError("a fleet has one engine or more, each with a name of its own")
        self.policy = policy
        self.shadow = shadow
        self._engines = tuple(engines)
        remember_all = not REMEMBER_ALL.isdisjoint({policy, shadow})
        self._cards = {
            engine.name: LiveCard(
                engine.name, engine.slots, index_tokens, remember_all=remember_all
            )
            for engine in engines
        }
        self._peers = {
            engine.name: [
                self._cards[peer.name]
                for peer in engines
                if peer.pool == engine.pool and peer.name != engine.name
            ]
            for engine in engines
        }
        self._rng = rng
        self._shadow_rng = Random(rng.getrandbits(64))  # noqa: S311 (so that watching changes no choice)
        self._turns: Counter[tuple[str, ...]] = Counter()
        self._numbers = 0
        self._beginnings = Beginnings()
        self._tokens_per_byte = Mean(TOKENS_PER_BYTE_PRIOR)
        self._emitted_per_byte = Mean(TOKENS_PER_BYTE_PRIOR)

    @property
    def tokens_per_byte(self) -> float:
        """Tokens per byte of a prompt's text, as learned from the engines' counts; before there
        are any, of what they emit."""
        return self._tokens_per_byte.value

    def candidates(self, model: str | None) -> tuple[str, ...]:
        """The engines of the pools that serve a model; all, where none is known to serve it."""
        pools = {e.pool for e in self._engines if model is not None and model in (e.model, e.pool)}
        return tuple(e.name for e in self._engines if not pools or e.pool in pools)

    def decide(self, asked: Asked, now_ns: int) -> Decision:
        """Choose an engine and reserve it. One that is down is chosen only where all are.

        Raises KeyError for a candidate or pin that is no engine of the fleet.
        """
        return self._decide(asked, asked.candidates or self.candidates(asked.model), now_ns)

    def exclude(self, decision: Decision, engine: str, now_ns: int) -> Decision:
        """Try elsewhere, once: `engine` failed before its first byte. Its reservation is given up.

        Raises NoOtherEngine at a second try, or where no other engine is up.
        """
        self.finished(decision, Outcome(status="upstream_error"), now_ns)
        if decision.retry:
            raise NoOtherEngine("it was tried elsewhere before")
        names = decision.asked.candidates or self.candidates(decision.asked.model)
        others = tuple(name for name in names if name != engine and self._cards[name].up)
        if not others:
            raise NoOtherEngine(f"no engine but {engine!r} is up")
        retried = self._decide(decision.asked._replace(pinned=None), others, now_ns)
        retried.retry = True
        retried.reason = "health"
        return retried

    def first_token(self, decision: Decision, now_ns: int) -> None:
        """The request's first token is there: its prompt is no longer waited for.

        Of an answer that comes whole, its first byte: when its first token was there is not seen.
        """
        flight = self._cards[decision.chosen].first_token(decision.number, now_ns)
        if flight is not None and flight.streams:
            decision.note_ttft(now_ns - decision.at_ns)

    def finished(self, decision: Decision, outcome: Outcome, now_ns: int) -> None:
        """The request is over, however; a second call for it changes nothing."""
        card = self._cards[decision.chosen]
        flight = card.release(decision, outcome, now_ns)
        if flight is None:
            return
        if outcome.status != "ok":
            if flight.first_token_ns is None:  # nothing shows that its prompt was computed
                card.index.drop(decision.asked.prefix.keys[flight.keys_before :])
            return
        ttft_ns = outcome.ttft_ns
        if ttft_ns is None and flight.streams and flight.first_token_ns is not None:
            ttft_ns = flight.first_token_ns - decision.at_ns
        if ttft_ns is not None:
            decision.note_ttft(ttft_ns)
        decision.actual_hit_tokens = outcome.cache_read_tokens
        self._learn_text(decision, outcome)
        learn(card, flight, decision, outcome, ttft_ns)
        for peer in self._peers[card.name]:
            peer.assume(card)

    def emitted(self, chunks: int, text_bytes: int) -> None:
        """A stream of an engine that tells no usage: each chunk stands for a token."""
        if chunks >= OUTPUT_TOKENS_MIN and text_bytes:
            self._emitted_per_byte.learn(_ratio(chunks / text_bytes))
            self._tokens_per_byte.assume(self._emitted_per_byte.value)

    def health(self, engine: str, up: bool, now_ns: int) -> None:
        """An engine takes no requests, or takes them again; its cache it may have kept."""
        self._cards[engine].up = up

    def gone(self, engine: str) -> None:
        """An engine could not be reached: whatever answers there next has nothing cached."""
        self._cards[engine].restarted()

    def told_slots(self, engine: str, slots: int) -> None:
        """An engine's own figure of how many requests it computes at once."""
        card = self._cards[engine]
        card.slots, card.slots_known = slots, True

    def card(self, engine: str) -> LiveCard:
        """An engine's live state, for showing."""
        return self._cards[engine]

    def _decide(self, asked: Asked, names: tuple[str, ...], now_ns: int) -> Decision:
        cards = [self._cards[name] for name in names]
        up = [card for card in cards if card.up]
        seen = tuple(card.seen(asked, now_ns) for card in up or cards)
        among = tuple(card.name for card in seen)
        state = State(seen, self._turns[among])
        self._turns[among] += 1
        asked = asked._replace(common=self._beginnings.meet(asked.prefix))
        chosen, reason = POLICIES[self.policy](state, asked, self._rng)
        shadow_policy, shadow = self.shadow, None
        if shadow_policy is not None:
            shadow, _ = POLICIES[shadow_policy](state, asked, self._shadow_rng)
        if asked.pinned is not None:
            if shadow_policy is None:
                shadow_policy, shadow = self.policy, chosen
            chosen, reason = asked.pinned, "pinned"
            if chosen not in among:
                seen = (*seen, self._cards[chosen].seen(asked, now_ns))
        elif not up:
            reason = "health"
        decision = Decision(
            number=self._numbers,
            policy=self.policy,
            chosen=chosen,
            reason=reason,
            cards=seen,
            asked=asked,
            at_ns=now_ns,
            shadow_policy=shadow_policy,
            shadow=shadow,
            tokens_per_byte=self.tokens_per_byte,
        )
        self._numbers += 1
        self._cards[chosen].reserve(decision)
        return decision

    def _learn_text(self, decision: Decision, outcome: Outcome) -> None:
        estimated = decision.asked.prefix.input_tokens
        if outcome.input_tokens and not outcome.estimated and estimated >= TOLD_TOKENS_MIN:
            ratio = outcome.input_tokens / estimated * decision.tokens_per_byte
            self._tokens_per_byte.learn(_ratio(ratio))


def _ratio(tokens_per_byte: float) -> float:
    return min(1.0, max(0.05, tokens_per_byte))
