"""Electricity prices by instant, from a CSV file: hourly, by the quarter hour, or any other step.

The first line names the columns: the instant comes first, and one column is `price_per_kwh` or
`price_per_mwh`, in the rig's currency. Instants bear their offset, as in
`2026-10-25T02:00+02:00`, or Z; a price may be negative.
"""

import csv
import datetime as dt
import hashlib
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from fractions import Fraction
from functools import lru_cache
from itertools import pairwise
from pathlib import Path

from collector.clock import SECOND_NS, to_ns
from collector.settings_types import NANO, SettingsError

PER_KWH = {"price_per_kwh": 1, "price_per_mwh": 1000}
HOLDS_MAX_NS = 3600 * SECOND_NS
PRICE_MAX = 1_000_000


@dataclass(frozen=True)
class PriceSeries:
    """Stretches [starts_ns, ends_ns) in order of time, disjoint, each with its price per kWh in
    nano-units; what lies between them has no price. `digest` tells one content from another."""

    digest: str
    starts_ns: Sequence[int]
    ends_ns: Sequence[int]
    prices_nano: Sequence[int]


def read(path: Path) -> PriceSeries:
    """The series in a file, in any order of its lines. Raises SettingsError with file and line.

    A price holds up to the next instant, at most an hour and at most as long as the shorter of
    the steps to its neighbours: where an hour is missing, no price is made up for it.
    """
    try:
        seen = path.stat()
        return _read(path, seen.st_mtime_ns, seen.st_size)
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{path}: {reason}; correct series in [[electricity]]") from None


@lru_cache(maxsize=16)
def _read(path: Path, _mtime_ns: int, _size: int) -> PriceSeries:
    content = path.read_bytes()
    digest = hashlib.blake2b(content, digest_size=16).hexdigest()
    return parse(content.decode("utf-8-sig"), str(path), digest)


def parse(text: str, name: str, digest: str = "") -> PriceSeries:
    """A series from CSV text; `name` stands for the file in refusals. Raises SettingsError."""
    rows = csv.reader(text.splitlines())
    header = [cell.strip().lower() for cell in next(rows, [])]
    found = [(place, cell) for place, cell in enumerate(header) if cell in PER_KWH and place]
    if len(found) != 1:
        raise SettingsError(
            f"{name}:1: no price column; name the columns in the first line, like"
            " instant,price_per_kwh (or price_per_mwh)"
        )
    (place, unit), *_ = found
    prices: dict[int, int] = {}
    for row in rows:
        if not any(cell.strip() for cell in row):
            continue
        where = f"{name}:{rows.line_num}"
        at = _instant(row[0], where)
        if at in prices:
            raise SettingsError(f"{where}: {row[0].strip()} is told twice; keep one of them")
        prices[at] = _price(row[place] if place < len(row) else "", PER_KWH[unit], where)
    starts = sorted(prices)
    return PriceSeries(digest, starts, list(_ends(starts)), [prices[at] for at in starts])


def _ends(starts: Sequence[int]) -> Iterable[int]:
    steps = [b - a for a, b in pairwise(starts)]
    before, after = [HOLDS_MAX_NS, *steps], [*steps, HOLDS_MAX_NS]
    for start, *around in zip(starts, before, after, strict=False):
        yield start + min(*around, HOLDS_MAX_NS)


def _instant(text: str, where: str) -> int:
    try:
        at = dt.datetime.fromisoformat(text.strip())
    except ValueError:
        at = None
    if at is None or at.tzinfo is None:
        what = "is no instant" if at is None else "does not say in which zone it is"
        raise SettingsError(
            f"{where}: {text.strip()!r} {what}; write it with its offset, like"
            " 2026-10-25T02:00+02:00 or 2026-10-25T00:00Z"
        )
    return to_ns(at)


def _price(text: str, per_kwh: int, where: str) -> int:
    """Nano-units per kWh; what lies below them is rounded half to even."""
    try:
        price = Decimal(text.strip())
    except InvalidOperation:
        price = Decimal("NaN")
    if not (price.is_finite() and abs(price) <= PRICE_MAX * per_kwh):
        raise SettingsError(f"{where}: {text.strip()!r} is no price; write a number, like 0.2145")
    return round(Fraction(price) * NANO / per_kwh)
