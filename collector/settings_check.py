"""What no single field can tell: settings that contradict each other."""

import ipaddress
import re
from collections.abc import Iterable, Iterator
from decimal import Decimal
from difflib import get_close_matches
from urllib.parse import urlsplit
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError, available_timezones

from collector.settings import Settings, SettingsError, nano
from collector.settings_assets_check import asset_faults, other_cost_faults
from collector.settings_fault import Fault
from collector.settings_power_check import electricity_faults, meter_faults
from collector.settings_types import without_user
from collector.settings_url_check import is_host, url_faults

__all__ = ["Fault", "Impossible", "faults"]

_PORTS = {"http": 80, "https": 443}
_ALL = frozenset({"0.0.0.0", "::"})  # noqa: S104 - compared, not bound
_LOOPBACK = {"127.0.0.1", "::1"}
_NAMES = {"localhost": _LOOPBACK, "0.0.0.0": {"127.0.0.1"}, "::": {"::1"}}  # noqa: S104


class Impossible(SettingsError):
    """A setting has a value that cannot be; `fault` says which, the message also where."""

    def __init__(self, message: str, fault: Fault) -> None:
        super().__init__(message)
        self.fault = fault


def faults(settings: Settings) -> Iterator[Fault]:
    """Every contradiction, in the order of the file's tables."""
    yield from _zone(settings)
    yield from _amounts(settings)
    yield from _assets(settings)
    yield from electricity_faults(settings)
    yield from _engines(settings)
    yield from _cards(settings)
    yield from meter_faults(settings)
    yield from url_faults(settings)
    yield from _addresses(settings)
    yield from _currencies(settings)


def split_address(address: str) -> tuple[str, int]:
    """Host and port of `host:port` or `[v6]:port`. Raises SettingsError."""
    host, _, port = address.rpartition(":")
    bare = host[1:-1] if host.startswith("[") and host.endswith("]") else host
    if not bare or "[" in bare or "]" in bare or (":" in bare and bare == host):
        raise SettingsError(f"{address!r} has no host of its own")
    if not is_host(bare):
        raise SettingsError(f"{address!r} has a host whose name cannot be")
    if not 0 <= int(port) <= 65_535:
        raise SettingsError(f"{address!r} has a port above 65535")
    return bare, int(port)


def local_url(address: str) -> str:
    """Where this machine finds an address that may stand for all of its own."""
    host, port = split_address(address)
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(host, host)  # noqa: S104
    return f"http://[{host}]:{port}" if ":" in host else f"http://{host}:{port}"


def is_loopback(host: str) -> bool:
    """Whether only this machine can reach the host."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def _zone(settings: Settings) -> Iterator[Fault]:
    name = settings.rig.time_zone
    try:
        ZoneInfo(name)
    except (ZoneInfoNotFoundError, ValueError, OSError):
        # Abbreviations like PST resemble one another too much to guess from.
        close = get_close_matches(name, available_timezones(), n=1) if len(name) > 5 else []
        remedy = f"did you mean {close[0]!r}?" if close else 'write it like "America/Los_Angeles"'
        yield Fault(("rig", "time_zone"), f"{name!r} is no time zone", remedy)


def _amounts(settings: Settings) -> Iterator[Fault]:
    for index, price in enumerate(settings.compare.prices):
        if nano(price.cache_read) > nano(price.input):
            yield Fault(
                ("compare", "prices", index, "cache_read"),
                f"{price.cache_read} is above the input price {price.input}",
                "cached input costs at most what input costs; are the two exchanged?",
            )


def _currencies(settings: Settings) -> Iterator[Fault]:
    for pair, rates in settings.currencies.items():
        path = ("currencies", pair)
        first, _, second = pair.partition("/")
        if not re.fullmatch(r"[A-Z]{3}/[A-Z]{3}", pair) or first == second:
            remedy = 'write two codes with a slash, like "CNY/USD" for what a yuan is in dollars'
            yield Fault(path, f"{pair!r} is no pair of currencies", remedy)
        if f"{second}/{first}" in settings.currencies:
            yield Fault(path, f"{second}/{first} is there too", "keep one of them")
        for index, rate in enumerate(rates):
            if Decimal(rate.rate) == 0:
                remedy = "write what one unit of the first currency is worth in the second"
                yield Fault((*path, index, "rate"), "a rate of 0", remedy)
            if rate.from_ in {other.from_ for other in rates[:index]}:
                remedy = "keep one of them or give the later one its own date"
                yield Fault((*path, index, "from"), f"two rates start on {rate.from_}", remedy)


def _assets(settings: Settings) -> Iterator[Fault]:
    for index, asset in enumerate(settings.hardware):
        yield from asset_faults(index, asset)
    for index, cost in enumerate(settings.other_costs):
        yield from other_cost_faults(index, cost)


def _engines(settings: Settings) -> Iterator[Fault]:
    seen = set()
    for index, engine in enumerate(settings.engines):
        if (engine.name, engine.from_) in seen:
            yield Fault(
                ("engines", index, "name"),
                f"two engines are called {engine.name!r} from the same day on",
                "give each engine its own name, or the later entry its own `from`",
            )
        seen.add((engine.name, engine.from_))
    names = sorted({engine.name for engine in settings.engines})
    for index, tap in enumerate(settings.taps):
        if (tap.engine is None) == (tap.front is None):
            yield Fault(
                ("taps", index, "engine"),
                "a tap stands before one engine or before one router",
                "name the engine, or give the router's address as front",
            )
        elif tap.engine is not None and tap.engine not in names:
            known = ", ".join(names) or "none is configured"
            yield Fault(
                ("taps", index, "engine"),
                f"there is no engine {tap.engine!r}",
                f"name one of [[engines]]: {known}",
            )


def _cards(settings: Settings) -> Iterator[Fault]:
    """Cards by index: samples tell the UUID, and one card must not be two in the books."""
    named: list[tuple[tuple[str | int, ...], Iterable[str]]] = [
        *((("hardware", i, "cards"), asset.cards) for i, asset in enumerate(settings.hardware)),
        (("usage", "peak_output_tokens_per_second"), settings.usage.peak_output_tokens_per_second),
        *((("engines", i, "gpus"), engine.gpus) for i, engine in enumerate(settings.engines)),
    ]
    for path, cards in named:
        for card in cards:
            if card.isdecimal():
                yield Fault(
                    path,
                    f"{card!r} is an index, which a reboot may change",
                    'run `nvidia-smi -L` and copy the card\'s UUID, like "GPU-…"',
                )


def _addresses(settings: Settings) -> Iterator[Fault]:
    listens: list[tuple[tuple[str | int, ...], str, str]] = [
        (("collector", "listen"), settings.collector.listen, "the collector"),
        (("dashboard", "listen"), settings.dashboard.listen, "the dashboard"),
        *([(("router", "listen"), door, "the router")] if (door := settings.router.listen) else []),
        *(
            (("taps", index, "listen"), tap.listen, f"the {tap.name}")
            for index, tap in enumerate(settings.taps)
        ),
    ]
    taken: dict[tuple[str, int], str] = {}
    for path, address, name in listens:
        try:
            place = split_address(address)
        except SettingsError as error:
            yield Fault(path, str(error), 'write host and port, like "127.0.0.1:8585"')
            continue
        if place[1] and place in taken:
            yield Fault(path, f"{address} is taken by {taken[place]}", "choose another port")
        taken[place] = name
    yield from _loops(settings, taken)
    yield from _open_doors(settings)


def _loops(settings: Settings, listens: dict[tuple[str, int], str]) -> Iterator[Fault]:
    """What lies behind us and is one of our own doors."""
    for path, url, what in _behind(settings):
        try:
            parts = urlsplit(url)
            host, port = parts.hostname or "", parts.port or _PORTS[parts.scheme]
        except ValueError:
            continue  # `url_faults` tells it
        for (listen, taken), name in listens.items():
            if taken == port and _reaches(host, listen):
                yield Fault(
                    path,
                    f"{without_user(url)} is where {name} listens",
                    f"write the {what}'s own address, and let clients call the tap's",
                )


def _behind(settings: Settings) -> Iterator[tuple[tuple[str | int, ...], str, str]]:
    """(place, address, what it is) of each engine's last entry, the others are past, and of each
    router behind a front tap."""
    latest = {e.name: e for e in sorted(settings.engines, key=lambda engine: engine.from_)}
    for index, engine in enumerate(settings.engines):
        if engine is latest[engine.name]:
            yield ("engines", index, "url"), engine.url, "engine"
    for index, tap in enumerate(settings.taps):
        if tap.front is not None:
            yield ("taps", index, "front"), tap.front, "router"


def _reaches(host: str, listen: str) -> bool:
    """Whether a name of this machine leads to what listens there."""
    if listen in _ALL:
        return is_loopback(host) or host in _ALL
    # Connecting to "all addresses" ends at the loopback one.
    return bool(_NAMES.get(host, {host}) & _NAMES.get(listen, {listen}))


def _open_doors(settings: Settings) -> Iterator[Fault]:
    doors = {
        "collector": (settings.collector.listen, settings.collector.token_file),
        "router": (settings.router.listen, settings.router.token_file),
    }
    for table, (address, token_file) in doors.items():
        try:
            host, _ = split_address(address or "localhost:0")
        except SettingsError:
            continue
        if not is_loopback(host) and token_file is None:
            yield Fault(
                (table, "listen"),
                f"{address} can be reached from other machines",
                f"set token_file in [{table}], or listen on 127.0.0.1",
            )
