"""Days' bills on a shelf: `derived/bills/<sheet>/<day>.json` beside the kept days.

A finished day's bill is kept with a fingerprint of all that it rests on: the sheet itself names
the folder, the rest are the rules, the tables of zones and holidays that it asks for, and the news
of the hours whose attempts it bills or its cache remembers. It can be deleted at any time.
"""

import hashlib
import json
from contextlib import suppress
from dataclasses import asdict
from pathlib import Path
from uuid import uuid4

import msgspec

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
    try:
        kept = json.loads(_place(shelf, day, sheet).read_bytes())
        return Bill(**kept["bill"]) if kept["fingerprint"] == fingerprint else None
    except (OSError, ValueError, KeyError, TypeError):
        return None  # never made, taken away or damaged: it is made again


def put(shelf: Shelf, day: Day, sheet: Sheet, bill: Bill) -> None:
    """Keep a finished day's bill: written aside, then renamed. A full disk keeps none."""
    fingerprint = _fingerprint(shelf, day, sheet)
    if fingerprint is None:
        return
    place = _place(shelf, day, sheet)
    aside = place.with_name(f"{place.name}.{uuid4().hex}.tmp")
    try:
        place.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
        aside.write_text(json.dumps({"fingerprint": fingerprint, "bill": asdict(bill)}))
        aside.rename(place)
    except OSError:
        with suppress(OSError):
            aside.unlink()


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
    return shelf.root / "bills" / digest / f"{day.name}.json"
