"""The last day of the walked rig's October: its attempts, what each cost, and one opened."""

import datetime as dt
import json
from pathlib import Path
from typing import Any

from places import common, requests
from rig.units import places_for, printed
from rig.walked import NOW_NS, attempts, report

from analytics.compare import compared_alone
from analytics.one_request import opened
from analytics.periods import day_at
from analytics.read import Ledger
from analytics.requests import requests as rows_of
from analytics.shelf import Shelf
from collector.clock import to_ns
from collector.settings import load

LAST_DAY, REQUEST = "2026-10-31", "test/2"


def day(config: Path) -> dict[str, Any]:
    """October's last day, its attempts with their cost, newest first, and one of them opened."""
    settings = load(config)
    shelf = Shelf(Ledger(settings.store_path()), settings, NOW_NS)
    span = day_at(to_ns(dt.datetime.fromisoformat(f"{LAST_DAY}T12:00Z")), settings.zone)
    (books,) = shelf.days(span.from_ns, span.to_ns)
    nano = {row["event_id"]: row["nano"] for row in rows_of(books, None).to_dicts()}
    every = attempts(config)
    listed = [
        each | {"nano": nano[each["event_id"]], "second": each["received_at"][11:19]}
        for each in every
        if each["received_at"].startswith(LAST_DAY)
    ]
    listed.sort(key=lambda each: each["event_id"])
    listed.sort(key=lambda each: each["received_at_ns"], reverse=True)
    source, _, name = REQUEST.partition("/")
    (it,) = (each for each in listed if each["event_id"] == name)
    found = opened(shelf, books, source, name)
    assert found is not None
    spent = [found.attempt[f"{part}_nano"] for part in ("capital", "energy", "other")]
    route = json.loads(it["route"])
    route["candidates"] = [
        each | {"was": "chosen" if each["engine"] == route["chosen"] else "shadow's"}
        for each in route["candidates"]
    ]
    (group,) = (g for g in report(config, "2026-10")["groups"]["day"] if g["name"] == LAST_DAY)
    return {
        "last_day_name": common.day_name(LAST_DAY),
        "day": group,
        "day_output": sum(each["output_tokens"] for each in listed),
        "listed": listed,
        "attempts": every,
        "told": it,
        "told_second": it["second"],
        "attempt": found.attempt,
        "attempt_printed": printed(spent, places_for(sum(spent))),
        "route": route,
        "kinds": requests.kinds(found.attempt),
        "own_misses": [
            {"why": requests.CAUSES[cause], **sums} for cause, sums in found.misses.items()
        ],
        "bills": compared_alone(shelf, books, source, name),
    }
