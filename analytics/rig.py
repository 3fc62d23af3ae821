"""Which cards the rig has, since when, and which engines and pools stand on them."""

from collections.abc import Iterable
from dataclasses import dataclass

from collector.settings import EngineSettings, Hardware, Settings


@dataclass(frozen=True)
class Card:
    """A card in the books: the engines on it, the pools they serve, and its first instant."""

    uuid: str
    engines: tuple[str, ...]
    pools: tuple[str, ...]
    in_service_ns: int


def cards(settings: Settings, seen: Iterable[str]) -> list[Card]:
    """Every card that an engine, an asset or an event names, in order of its UUID."""
    named = {gpu for engine in settings.engines for gpu in engine.gpus}
    named |= {gpu for asset in settings.hardware for gpu in asset.cards}
    return [_card(settings, uuid) for uuid in sorted(named | set(seen))]


def assets_of(settings: Settings, uuid: str) -> list[Hardware]:
    """The assets that carry a card: those that name it, and those shared by all."""
    return [asset for asset in settings.hardware if not asset.cards or uuid in asset.cards]


def engine_at(settings: Settings, name: str, at_ns: int) -> EngineSettings | None:
    """An engine's assignment in force at an instant; the last one dated before it counts."""
    in_force = [
        engine
        for engine in settings.engines
        if engine.name == name and settings.midnight_ns(engine.from_) <= at_ns
    ]
    return max(in_force, key=lambda engine: engine.from_, default=None)


def pool_of(settings: Settings, engine: str) -> str:
    """The pool of an engine; one that the settings do not know stands alone."""
    named = [e.pool_name for e in settings.engines if e.name == engine]
    return named[-1] if named else engine


def _card(settings: Settings, uuid: str) -> Card:
    engines = [engine for engine in settings.engines if uuid in engine.gpus]
    own = [asset for asset in settings.hardware if uuid in asset.cards]
    days = [asset.in_service for asset in own or assets_of(settings, uuid)]
    days = days or [engine.from_ for engine in engines]
    return Card(
        uuid=uuid,
        engines=tuple(sorted({engine.name for engine in engines})),
        pools=tuple(sorted({engine.pool_name for engine in engines})),
        in_service_ns=settings.midnight_ns(min(days)) if days else 0,
    )
