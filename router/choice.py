"""Between the door and the fleet: requests as the fleet weighs them, decisions as the books tell
them."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from random import Random
from typing import Any

import msgspec

from collector.clock import boot_ns, now_ns
from collector.events import Attempt, Route
from collector.formats.answer import Told
from collector.formats.usage import count, part
from collector.settings import EngineSettings, Settings
from router.decision import Asked, Decision, Outcome
from router.engines import Assignments
from router.estimates import estimated, is_untold, with_hit
from router.fleet import Fleet, FleetEngine, NoOtherEngine
from router.labels import Labels
from router.live_card import LiveCard
from router.prefix import prefix_of

Served = Callable[[EngineSettings], frozenset[str]]


@dataclass
class Choice:
    """The engine chosen for one attempt, and the decision behind it.

    `conversation` is the key of the prompt up to its first message, which all turns share.
    `goes_on`: the engine itself keeps what came before, so that the prompt is not seen here whole.
    """

    engine: EngineSettings
    decision: Decision
    conversation: str | None
    goes_on: bool = False
    began: bool = False


class Chooser:
    """Chooses among all engines of the settings, by one policy."""

    def __init__(self, settings: Settings, labels: Labels, rng: Random) -> None:
        """Raises SettingsError where there is no engine to choose."""
        names = dict.fromkeys(engine.name for engine in settings.engines)
        self._assignments = {name: Assignments(settings, name) for name in names}
        self._labels = labels
        self._turn = 0
        self._fleet = Fleet(
            [
                FleetEngine(engine.name, engine.slots, engine.pool_name, engine.model)
                for engine in self.engines()
            ],
            settings.router.policy,
            rng=rng,
            shadow=settings.router.shadow,
        )

    def engines(self) -> list[EngineSettings]:
        """The declarations in force now."""
        today_ns = now_ns()
        return [assignments.at(today_ns) for assignments in self._assignments.values()]

    def card(self, engine: str) -> LiveCard:
        """What is known of an engine now."""
        return self._fleet.card(engine)

    def any(self, name: str | None, model: str | None, served: Served) -> EngineSettings:
        """The engine of that name, else one that is in, by turns; of those that serve the model
        where any is known to."""
        engines = self.engines()
        for engine in engines:
            if engine.name == name:
                return engine
        able = self._serving(model, served)
        engines = [engine for engine in engines if not able or engine.name in able]
        up = [engine for engine in engines if self._fleet.card(engine.name).up] or engines
        self._turn += 1
        return up[self._turn % len(up)]

    def choose(
        self,
        asked: Mapping[str, Any],
        operation: str,
        *,
        model: str | None,
        pinned: str | None,
        now_ns: int,
        served: Served,
    ) -> Choice:
        """Choose for a decoded request ({} where it could not be read), and reserve."""
        prefix = prefix_of(asked, operation, self._labels, self._fleet.tokens_per_byte)
        limits = (asked.get("max_completion_tokens"), asked.get("max_tokens"))
        decision = self._fleet.decide(
            Asked(
                prefix=prefix,
                model=model,
                candidates=self._serving(model, served),
                pinned=pinned,
                streams=asked.get("stream") is True,
                output_tokens_max=next((each for each in map(count, limits) if each), None),
            ),
            now_ns,
        )
        own = prefix.keys[prefix.shared :]
        choice = self._choice(decision, own[0] if own else None)
        choice.goes_on = bool(asked.get("previous_response_id") or asked.get("conversation"))
        return choice

    def instead(self, choice: Choice, now_ns: int) -> Choice | None:
        """Another engine for a request that this one has not begun, None where there is none."""
        try:
            decision = self._fleet.exclude(choice.decision, choice.engine.name, now_ns)
        except NoOtherEngine:
            return None
        other = self._choice(decision, choice.conversation)
        other.goes_on = choice.goes_on
        return other

    def first_token(self, choice: Choice, at_ns: int) -> None:
        """Its prompt is no longer waited for."""
        self._fleet.first_token(choice.decision, at_ns)

    def finished(self, choice: Choice, event: Attempt, told: Told, now_ns: int) -> Attempt:
        """The attempt is over: free what it reserved, learn from it, tell the decision with it,
        and estimate what its answer did not tell."""
        decision = choice.decision
        prefix = decision.asked.prefix
        if is_untold(event, told) and not choice.goes_on:
            self._fleet.emitted(told.content_chunks, told.text_bytes)
            learned = self._fleet.tokens_per_byte
            event = estimated(event, told, prefix, learned, decision.tokens_per_byte)
        self._fleet.finished(decision, _outcome(event), now_ns)
        return msgspec.structs.replace(
            with_hit(event, decision.inferred_hit_tokens),
            prefix=list(prefix.keys),
            prefix_tokens=list(prefix.tokens),
            route=msgspec.convert(decision.route(), Route),
        )

    def given_up(self, choice: Choice, now_ns: int) -> None:
        """No event came of the attempt: free what it reserved."""
        self._fleet.finished(choice.decision, Outcome(status="upstream_error"), now_ns)

    def health(self, engine: str, up: bool) -> None:
        """An engine is out, or in again."""
        self._fleet.health(engine, up, boot_ns())

    def gone(self, engine: str) -> None:
        """An engine could not be reached: what was cached there is lost."""
        self._fleet.gone(engine)

    def told_slots(self, engine: str, slots: int) -> None:
        """An engine says how many requests it computes at once."""
        self._fleet.told_slots(engine, slots)

    def _serving(self, model: str | None, served: Served) -> tuple[str, ...]:
        """The engines that are known to serve a model; none named where none is known to."""
        if model is None:
            return ()
        return tuple(each.name for each in self.engines() if model in served(each))

    def _choice(self, decision: Decision, conversation: str | None) -> Choice:
        engine = self._assignments[decision.chosen].at(now_ns())
        return Choice(engine, decision, conversation)


def _outcome(event: Attempt) -> Outcome:
    before_ns = event.dispatch_ns or 0  # the fleet counts from its decision
    prompt_ms = part(event.raw_usage, "timings", "prompt_ms")
    return Outcome(
        status=event.status,
        input_tokens=event.input_tokens,
        cache_read_tokens=event.cache_read_tokens,
        output_tokens=event.output_tokens,
        ttft_ns=None if event.ttft_ns is None else max(0, event.ttft_ns - before_ns),
        duration_ns=max(0, event.duration_ns - before_ns),
        prompt_ms=float(prompt_ms) if isinstance(prompt_ms, int | float) else None,
        estimated=event.usage_source == "estimated",
    )
