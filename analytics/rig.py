"""Which cards the rig has, since when, and which engines and pools stand on them at an instant.

Only the settings name cards: an event can neither add capacity nor move cost.
"""

import datetime as dt
from collections.abc import Iterable
from dataclasses import dataclass

import numpy as np
import polars as pl

from analytics.intervals import union
from collector.settings import EngineSettings, Hardware, Settings

FOREVER = 2**63 - 1


@dataclass(frozen=True)
class Card:
    """A card in the books: the engines on it, the pools they serve, and when it is in service:
    disjoint spans, ns, in order; `FOREVER` ends one that has no end."""

    uuid: str
    engines: tuple[str, ...]
    pools: tuple[str, ...]
    in_service: tuple[tuple[int, int], ...]


def in_force(settings: Settings, at_ns: int) -> dict[str, EngineSettings]:
    """The assignment of each engine at an instant, by name: the last dated before it counts."""
    dated = sorted(settings.engines, key=lambda engine: engine.from_)
    return {e.name: e for e in dated if settings.midnight_ns(e.from_) <= at_ns}


def changes(settings: Settings) -> list[int]:
    """The instants at which an assignment changes, ns, in order."""
    return sorted({settings.midnight_ns(engine.from_) for engine in settings.engines})


def cards(settings: Settings, at_ns: int) -> list[Card]:
    """Every card that an asset names or an engine stands on at an instant, in order of UUID."""
    engines = in_force(settings, at_ns)
    named = {gpu for engine in engines.values() for gpu in engine.gpus}
    named |= {gpu for asset in settings.hardware for gpu in asset.cards}
    return [_card(settings, engines, uuid) for uuid in sorted(named)]


def in_service(cards: Iterable[Card]) -> pl.DataFrame:
    """When the cards are in service: card, begin and end (ns) of each span."""
    return pl.DataFrame(
        [(card.uuid, start, end) for card in cards for start, end in card.in_service],
        schema={"card": pl.String, "begin": pl.Int64, "end": pl.Int64},
        orient="row",
    )


def assets_of(settings: Settings, uuid: str) -> list[Hardware]:
    """The assets that carry a card: those that name it, and those shared by all."""
    return [asset for asset in settings.hardware if not asset.cards or uuid in asset.cards]


def _card(settings: Settings, engines: dict[str, EngineSettings], uuid: str) -> Card:
    here = [engine for engine in engines.values() if uuid in engine.gpus]
    return Card(
        uuid=uuid,
        engines=tuple(sorted(engine.name for engine in here)),
        pools=tuple(sorted({engine.pool_name for engine in here})),
        in_service=_service(settings, uuid),
    )


def _service(settings: Settings, uuid: str) -> tuple[tuple[int, int], ...]:
    """While an asset that names the card is there; or else one that all share, or an engine."""
    own = [asset for asset in settings.hardware if uuid in asset.cards]
    spans = [
        (settings.midnight_ns(a.in_service), _midnight_or_never(settings, a.retired))
        for a in own or assets_of(settings, uuid)
    ]
    if not spans:
        days = [e.from_ for e in settings.engines if uuid in e.gpus]
        spans = [(settings.midnight_ns(min(days)), FOREVER)]
    starts, ends = np.array(spans, dtype=np.int64).T
    return tuple((int(start), int(end)) for start, end in union(starts, ends))


def _midnight_or_never(settings: Settings, day: dt.date | None) -> int:
    return FOREVER if day is None else settings.midnight_ns(day)
