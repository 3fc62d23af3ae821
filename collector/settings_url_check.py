"""Addresses that could be written, and where nothing could be asked."""

from collections.abc import Iterator
from urllib.parse import urlsplit

from collector.settings import Settings
from collector.settings_fault import Fault
from collector.settings_types import without_user

Place = tuple[str | int, ...]
LIKE = 'write scheme, host and port, like "http://127.0.0.1:8001"'


def url_faults(settings: Settings) -> Iterator[Fault]:
    """What is wrong with the addresses of engines, meters and other routers."""
    for path, url in _urls(settings):
        try:
            parts = urlsplit(url)
            host, _ = parts.hostname or "", parts.port
        except ValueError as error:
            yield Fault(path, f"{without_user(url)!r} is no address ({error})", LIKE)
            continue
        if not is_host(host):
            yield Fault(
                path,
                f"{host!r} is no name of a host: a part of it is empty or too long",
                'write the host as the network knows it, like "gpu.lan" or "192.168.1.5"',
            )
        if path[0] != "meters" and parts.path.rstrip("/").endswith("/v1"):
            yield Fault(
                path,
                f"{without_user(url)} ends in /v1, which clients write themselves",
                "leave out the /v1: what comes to the tap or the router has it in its own path",
            )


def is_host(name: str) -> bool:
    """Whether this can be the name of a host: no part between its dots is empty or too long."""
    try:
        name.encode("idna")
    except UnicodeError:
        return False
    return bool(name)


def _urls(settings: Settings) -> Iterator[tuple[Place, str]]:
    for index, engine in enumerate(settings.engines):
        yield ("engines", index, "url"), engine.url
    for index, meter in enumerate(settings.meters):
        yield ("meters", index, "url"), meter.url
    for index, tap in enumerate(settings.taps):
        if tap.front is not None:
            yield ("taps", index, "front"), tap.front
