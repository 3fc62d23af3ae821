"""The monthly report as a file to keep: of which month, and the bytes that `report` writes."""

import time
from pathlib import Path

from analytics.periods import month_at, month_before, month_of
from analytics.publish import WATCHING, published
from collector import closed
from collector.settings import Settings
from collector.snapshot import first_ns


def month_to_keep(settings: Settings, shown: str) -> str | None:
    """The month that is shown, or the last full one while that still runs; None where the books
    begin after it.

    Raises DamagedClosing for a closed month that was changed.
    """
    running = month_at(time.time_ns(), settings.zone)
    name = month_before(running, settings.zone).name if shown == running.name else shown
    store = settings.store_path()
    first = first_ns(store, WATCHING)
    if first is None or first >= month_of(name, settings.zone).to_ns:
        return None
    closed.filed(store, name)
    return name


def as_file(config: Path | None, month: str) -> bytes:
    """What `rigledger report MONTH --format html` prints.

    Raises BrokenIdentity, DamagedClosing, FileNotFoundError, ValueError.
    """
    _, document = published(config, month, "html")
    return f"{document}\n".encode()
