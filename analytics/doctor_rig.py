"""Findings about cards, engines, router and taps. Pure: facts in, findings out."""

from collections import Counter
from collections.abc import Iterator

from analytics.finding import Finding, note, ok, problem
from collector.checkup import CardFacts, Facts, place
from collector.settings import EngineSettings, Settings
from collector.settings_check import split_address
from collector.settings_types import without_user
from router.checkup import TapFacts


def cards(engines: list[EngineSettings], seen: CardFacts) -> Iterator[Finding]:
    """The driver's cards against those of the settings."""
    if seen.error is not None:
        # Without engines there may be nothing to look at: a laptop that only shows the pages.
        say = problem if engines else note
        yield say("cards", seen.error)
        return
    uuids = [reading.device for reading in seen.readings]
    yield ok("cards", f"driver {seen.driver} knows {', '.join(uuids) or 'no card'}")
    for text in seen.nameless:
        yield problem("cards", f"a card without a UUID: {text}", "see `nvidia-smi -q`")
    used: set[str] = set()
    for engine in engines:
        used |= set(engine.gpus)
        for card in engine.gpus:
            if card not in uuids:
                yield problem(
                    "cards",
                    f"{engine.name} names card {card}, which the driver does not know",
                    f"write one of {', '.join(uuids) or 'none'}",
                )
    for reading in seen.readings:
        yield from _sensors(reading.device, reading.error, reading.energy_uj_total)
        if reading.device not in used:
            yield note(
                "cards",
                f"{reading.device} belongs to no engine",
                "name it in `gpus` of [[engines]] if it serves a model",
            )


def _sensors(device: str, error: str | None, energy_uj: int | None) -> Iterator[Finding]:
    if error is not None:
        yield problem(
            "cards",
            f"{device} cannot be read in full: {error}",
            "see `nvidia-smi -q` and the kernel's log",
        )
    elif energy_uj is None:
        yield note("cards", f"{device} has no energy counter: energy is summed up from its draw")


def engines_up(engines: list[EngineSettings], facts: Facts) -> Iterator[Finding]:
    """Each engine's own answer."""
    if not engines:
        yield note("engines", "no engine is configured", "add [[engines]] and [[taps]]")
    for engine in engines:
        found = facts.engines[engine.name]
        if not found.up:
            yield problem(
                "engines",
                f"{engine.name} does not answer at {without_user(engine.url)}",
                "start it, or correct its url",
            )
            continue
        yield ok("engines", f"{engine.name} at {without_user(engine.url)} {found}")
        if found.kind is not None and found.kind != engine.kind:
            yield note(
                "engines",
                f"{engine.name} looks like {found.kind}, not {engine.kind}",
                f'write kind = "{found.kind}"',
            )
        if engine.slots and found.slots and engine.slots != found.slots:
            yield note(
                "engines",
                f"{engine.name} has {found.slots} slots, not {engine.slots}",
                f"write slots = {found.slots}",
            )
        if engine.slots is None and found.slots is None:
            yield note(
                "engines",
                f"nobody tells how many requests {engine.name} computes at once",
                "write its slots",
            )


def ports(settings: Settings, engines: list[EngineSettings]) -> Iterator[Finding]:
    """Addresses that two things claim."""
    places = {engine.name: place(engine.url) for engine in engines}
    for (host, port), count in Counter(places.values()).items():
        if count > 1:
            names = " and ".join(name for name, at in places.items() if at == (host, port))
            yield problem(
                "engines",
                f"{names} have one address, {host}:{port}",
                "give each its own url: their work cannot be told apart",
            )
    for area, table, name, listen in _listeners(settings):
        if split_address(listen) in places.values():
            yield problem(
                area,
                f"{name} listens where an engine answers",
                f"choose another port than {listen} under {table}",
            )


def _listeners(settings: Settings) -> Iterator[tuple[str, str, str, str]]:
    """(area, table of the settings, name, address) of the router and of each tap."""
    if settings.router.listen is not None:
        yield "router", "[router]", "the router", settings.router.listen
    for tap in settings.taps:
        yield "taps", "[[taps]]", f"the {tap.name}", tap.listen


def ports_up(settings: Settings, found: TapFacts) -> Iterator[Finding]:
    """The router's port and each tap's, and what waits to be sent."""
    tapped = {tap.engine for tap in settings.taps}
    untapped = sorted({engine.name for engine in settings.engines} - tapped)
    # The router books what it sends to any engine.
    for name in untapped if settings.router.listen is None else ():
        yield note(
            "taps",
            f"{name} has no tap: its requests are in the books only if another source tells them",
            "add [[taps]] and send its clients there",
        )
    for area, _, name, listen in _listeners(settings):
        if found.listening[listen]:
            yield ok(area, f"{name} listens on {listen}")
        else:
            yield problem(
                area,
                f"nobody listens on {listen}, {name}",
                "start `rigledger up` or `rigledger route`",
            )
    if found.waiting:
        yield note(
            "taps",
            f"{found.waiting:,} events wait for the collector",
            "they are sent once `rigledger route` and the collector run",
        )
    if found.refused:
        yield note(
            "taps",
            f"the collector refused {found.refused:,} events of the router and the taps",
            "the router's log says why; they are kept in its spool",
        )
