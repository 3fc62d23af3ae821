"""The tables that days and bills rest on and that nobody declares: time zones, public holidays.

Governments change both, and new versions of programs bring the change.
"""

import hashlib
import zoneinfo
from collections.abc import Iterable
from functools import cache
from importlib import metadata
from importlib.resources import files
from pathlib import Path

from collector.settings import Settings


def tables(zones: Iterable[str], *, holidays: bool) -> list[str]:
    """What tells whether tables are still the same: a digest of each zone's as it is in use, and
    the versions of the programs that bring the frames' zones and, where asked for, the holidays."""
    named = ["polars", "holidays"] if holidays else ["polars"]
    digests = [_zone(zone, zoneinfo.TZPATH) for zone in sorted(zones)]
    return [*digests, *(f"{each} {version(each)}" for each in named)]


def tables_of_rig(settings: Settings) -> list[str]:
    """The tables of a rig's zone and of the holidays that its tariffs ask for."""
    asked = any(entry.holidays for entry in settings.electricity)
    return tables([settings.zone.key], holidays=asked)


@cache
def _zone(key: str, places: tuple[str, ...]) -> str:
    """A digest of a zone's table, from where `zoneinfo` takes it."""
    for place in places:
        table = Path(place, key)
        if table.is_file():
            return _digest(table.read_bytes())
    return _digest(files("tzdata").joinpath("zoneinfo", *key.split("/")).read_bytes())


@cache
def version(name: str) -> str:
    """The version of an installed distribution, as it was when it was first asked for."""
    return metadata.version(name)


def _digest(content: bytes) -> str:
    return hashlib.blake2b(content, digest_size=16).hexdigest()
