"""Days' bills on a shelf: `derived/bills/<sheet>/<day>/` beside the kept days.

A finished day's bill is kept with a fingerprint of all that it rests on: the sheet itself names
the folder, the rest are the rules, the tables of zones and holidays that it asks for, and the news
of the hours whose attempts it bills or its cache remembers. It can be deleted at any time.
"""

import hashlib
from dataclasses import asdict
from pathlib import Path

import msgspec

from analytics import folder
from analytics.counterfactual import Bill, reach_ns
from analytics.day import Day
from analytics.prices.sheet import Sheet
from analytics.shelf import Shelf
from collector.tables import tables

RULES = 1  # raise it whenever the same attempts and sheet would give another bill


def take(shelf: Shelf, day: Day, sheet: Sheet) -> Bill | None:
    """The bill of a day whose fingerprint still holds."""
    fingerprint = _fingerprint(shelf, day, sheet)
    if fingerprint is None:
        return None
    place = _place(shelf, day, sheet)
    kept = folder.read(place, (), holds=lambda told: told["fingerprint"] == fingerprint)
    return None if kept is None else Bill(**kept[0]["bill"])


def put(shelf: Shelf, day: Day, sheet: Sheet, bill: Bill) -> None:
    """Keep a finished day's bill. A full disk keeps none."""
    fingerprint = _fingerprint(shelf, day, sheet)
    if fingerprint is None:
        return
    place = _place(shelf, day, sheet)
    folder.make(shelf.root)
    folder.make(place.parent.parent)
    folder.put(place, {}, {"fingerprint": fingerprint, "bill": asdict(bill)})


def _fingerprint(shelf: Shelf, day: Day, sheet: Sheet) -> str | None:
    mark = shelf.mark(day.from_ns, day.to_ns, reach_ns(sheet))
    return None if mark is None else "-".join([str(RULES), mark, *_tables(sheet)])


def _tables(sheet: Sheet) -> list[str]:
    """The tables of the zones and holidays that a sheet asks for."""
    whens = [override.when for period in sheet.periods for override in period.overrides]
    zones = {zone for when in whens for zone in (when.tz, when.day_tz) if zone is not None}
    asked = any(when.holidays or when.except_holidays for when in whens)
    return tables(zones, holidays=asked)


def _place(shelf: Shelf, day: Day, sheet: Sheet) -> Path:
    digest = hashlib.blake2b(msgspec.json.encode(sheet), digest_size=8).hexdigest()
    return shelf.root / "bills" / digest / day.name
