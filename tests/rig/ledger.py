"""Small ledgers for tests: events by a few words each, kept by the real store."""

import datetime as dt
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from analytics.read import Ledger
from collector.clock import from_ns, to_ns
from collector.events import Attempt, Engine, Event, Heartbeat, Sample
from collector.settings import EngineSettings, Settings
from collector.store import Store

SECOND = 1_000_000_000
START = to_ns(dt.datetime(2026, 10, 5, 8, 0, tzinfo=dt.UTC))  # a Monday


def at(seconds: float) -> int:
    """An instant, seconds after START, as ns."""
    return START + round(seconds * SECOND)


def attempt(name: str, start: float, end: float, card: str = "A", **fields: Any) -> Attempt:
    """A request from `start` to `end` (seconds after START) on one card, named by the card."""
    given: dict[str, Any] = {
        "ttft_ns": None,
        "input_tokens": 100,
        "cache_read_tokens": 0,
        "output_tokens": 50,
        "usage_source": "engine",
        "gpus": [card],
        "engine": f"on-{card}",
        "model": "m",
        "status": "ok",
    }
    given.update(fields)
    return Attempt(
        source="test",
        event_id=name,
        rig="desk",
        received_at=from_ns(at(start)),
        duration_ns=at(end) - at(start),
        **given,
    )


def heartbeats(
    start: float, end: float, covers: Iterable[str], every: float = 10, source: str = "test"
) -> list[Event]:
    """A witness's word every 10 s in [start, end)."""
    count = round((end - start) / every)
    return [
        Heartbeat(
            source=source,
            event_id=f"hb-{start}-{n}",
            rig="desk",
            witness="test",
            covers=list(covers),
            at=from_ns(at(start + n * every)),
        )
        for n in range(count)
    ]


def sample(card: str, second: float, **fields: Any) -> Sample:
    """One reading of a card."""
    return Sample(
        source="nvml",
        event_id=f"{card}-{second}",
        rig="desk",
        device=card,
        scope="card",
        at=from_ns(at(second)),
        sensor="test",
        **fields,
    )


def engine(name: str, second: float, state: str, slots: int | None = None) -> Engine:
    """A health check's word."""
    return Engine(
        source="test",
        event_id=f"{name}-{second}",
        rig="desk",
        engine=name,
        state=state,  # type: ignore[arg-type]
        slots=slots,
        at=from_ns(at(second)),
    )


def settings(*cards: str, **tables: Any) -> Settings:
    """A rig with one engine per card, all in one pool."""
    engines = [
        EngineSettings(
            name=f"on-{card}", url="http://127.0.0.1:1", gpus=[card], slots=2, pool="pool"
        )
        for card in cards
    ]
    return Settings(engines=engines, **tables)


def ledger(path: Path, events: Iterable[Event]) -> Ledger:
    """A ledger that holds these events."""
    store = Store(path)
    store.append(list(events))
    store.close()
    return Ledger(path)
