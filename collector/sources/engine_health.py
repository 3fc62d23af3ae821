"""Engines' health, and the heartbeat that says for which engines the collector knows it.

Every 10 s each engine is asked for `/health`. An `Engine` event tells what changed; a
`Heartbeat` covers the engines whose check completed, up or down, so that readers can tell
"down" from "nobody looked".
"""

import datetime as dt
import logging
import threading
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, wait
from dataclasses import dataclass, field
from typing import Annotated
from uuid import uuid4

import msgspec
from msgspec import Meta

from collector.clock import PLACED, Placed, boot_id, from_ns
from collector.events import Engine, Event, Heartbeat
from collector.settings import EngineSettings, Settings
from collector.sources.ask import ask

log = logging.getLogger(__name__)
SOURCE = "collector"
INTERVAL_S = 10.0
WITHIN_S = 3.0
ROUND_S = 8.0
POLL_S = 0.1
STOP_S = 3.0
REASON_MAX = 200
Deliver = Callable[[list[Event]], None]


class Props(msgspec.Struct):
    """The part of llama.cpp's `/props` that is read."""

    total_slots: Annotated[int, Meta(ge=1, le=4096)] | None = None


@dataclass(frozen=True)
class Health:
    """What one check found, and why an engine is down."""

    up: bool
    slots: int | None
    reason: str = field(default="", compare=False)


class EngineHealth:
    """Checks the engines on threads of its own until stopped."""

    def __init__(
        self, settings: Settings, *, interval_s: float = INTERVAL_S, placed: Placed = PLACED
    ) -> None:
        self._settings = settings
        self._placed = placed
        self._steps_seen = 0
        self._again_ns: int | None = None
        self._interval_s = interval_s
        self._boot_id = boot_id()
        # Random per start: a restart, even within one boot, never reuses an id.
        self._run = uuid4().hex
        self._told = 0
        self._last: dict[str, Health] = {}
        self._pending: dict[str, Future[Health]] = {}
        self._stop = threading.Event()
        self._thread: threading.Thread | None = None

    def start(self, deliver: Deliver) -> None:
        """Begin; `deliver` gets a round's events on the source's thread."""
        self._thread = threading.Thread(
            target=self._run_rounds, args=(deliver,), name="engine-health", daemon=True
        )
        self._thread.start()

    def stop(self) -> None:
        """Stop within 3 s, whatever the engines do; a round under way is dropped."""
        self._stop.set()
        if self._thread is not None:
            self._thread.join(STOP_S)

    def _run_rounds(self, deliver: Deliver) -> None:
        due = time.monotonic()
        while not self._stop.is_set():
            try:
                today = from_ns(self._placed.now_ns()).astimezone(self._settings.zone).date()
                events = self._round(in_force(self._settings.engines, today))
                if not self._stop.is_set():
                    deliver(events)
            except Exception:
                log.exception("a round of health checks failed; the next one follows")
            due = max(due + self._interval_s, time.monotonic())
            self._stop.wait(due - time.monotonic())

    def _mind_steps(self) -> None:
        """Tell every engine anew once the clock was set, and once the time told twice is over.

        What was told in that time the books leave out; an older word would else hold on.
        """
        now_ns = self._placed.now_ns()
        steps = self._placed.steps(self._steps_seen)
        self._steps_seen += len(steps)
        ends = [step.at_ns - step.step_ns for step in steps if step.step_ns < 0]
        if steps or (self._again_ns is not None and now_ns > self._again_ns):
            self._last.clear()
            self._again_ns = max(ends, default=None)

    def _round(self, engines: Sequence[EngineSettings]) -> list[Event]:
        self._mind_steps()
        for engine in engines:
            # A check that hangs past its round is left alone, not doubled.
            if engine.name not in self._pending:
                self._pending[engine.name] = _checking(engine)
        until = time.monotonic() + ROUND_S
        while wait(self._pending.values(), POLL_S).not_done and time.monotonic() < until:
            if self._stop.is_set():
                return []
        events: list[Event] = []
        covers: list[str] = []
        for engine in engines:
            future = self._pending[engine.name]
            if not future.done():
                continue
            del self._pending[engine.name]
            found = future.result()
            covers.append(engine.name)
            if self._last.get(engine.name) != found:
                self._last[engine.name] = found
                state = "up" if found.up else f"down ({found.reason})"
                log.info("engine %s is %s", engine.name, state)
                events.append(self._engine(engine.name, found))
        events.append(self._heartbeat(covers))
        return events

    def _engine(self, name: str, found: Health) -> Engine:
        return Engine(
            source=SOURCE,
            event_id=self._next_id("engine"),
            rig=self._settings.rig.name,
            boot_id=self._boot_id,
            engine=name,
            state="up" if found.up else "down",
            slots=found.slots,
            at=from_ns(self._placed.now_ns()),
        )

    def _heartbeat(self, covers: list[str]) -> Heartbeat:
        return Heartbeat(
            source=SOURCE,
            event_id=self._next_id("heartbeat"),
            rig=self._settings.rig.name,
            boot_id=self._boot_id,
            witness=SOURCE,
            covers=covers,
            at=from_ns(self._placed.now_ns()),
        )

    def _next_id(self, what: str) -> str:
        self._told += 1
        return f"{what}-{self._run}-{self._told}"


def _checking(engine: EngineSettings) -> Future[Health]:
    """A check on a thread of its own, which no exit waits for."""
    future: Future[Health] = Future()

    def run() -> None:
        future.set_result(check(engine))

    threading.Thread(target=run, name=f"health-{engine.name}", daemon=True).start()
    return future


def in_force(engines: Sequence[EngineSettings], today: dt.date) -> list[EngineSettings]:
    """The engines assigned today: of each name the latest entry that has begun."""
    latest: dict[str, EngineSettings] = {}
    for engine in sorted(engines, key=lambda engine: engine.from_):
        if engine.from_ <= today:
            latest[engine.name] = engine
    return list(latest.values())


def check(engine: EngineSettings, within_s: float = WITHIN_S) -> Health:
    """Ask an engine how it is; never raises, and takes `within_s` for each of two questions.

    Up means that it answered with a status below 500: engines that load a model answer 503,
    engines without `/health` answer 404. Slots are llama.cpp's own `total_slots`, else the
    configured number.
    """
    url = engine.url.rstrip("/")
    try:
        status, _ = ask(f"{url}/health", within_s, body_max=0)
    except Exception as error:  # whatever one engine does, the others are checked
        return Health(False, engine.slots, f"{type(error).__name__}: {error}"[:REASON_MAX])
    if status >= 500:
        return Health(False, engine.slots, f"it answers HTTP {status}")
    slots = _llama_slots(url, within_s) if engine.kind == "llama_cpp" else None
    return Health(True, engine.slots if slots is None else slots)


def _llama_slots(url: str, within_s: float) -> int | None:
    try:
        return msgspec.json.decode(ask(f"{url}/props", within_s)[1], type=Props).total_slots
    except Exception:  # slots that are not told are unknown, not a fault
        return None
