"""What `report` and `close` do: months as they were closed, or as the books tell them now."""

from collections.abc import Callable
from importlib.metadata import version
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from analytics import close as closing
from analytics.change import change, nothing
from analytics.close import Content
from analytics.identities import BrokenIdentity
from analytics.month import account
from analytics.periods import Period, day_at, month_at, month_before, month_of
from analytics.read import Ledger
from analytics.render import focus, html, markdown, report, table
from analytics.render.indented import indented
from analytics.shelf import Shelf
from collector import closed
from collector.clock import now_ns
from collector.closed import DamagedClosing, Filed
from collector.invocation import invocation
from collector.manifest import MANIFEST
from collector.settings import Settings, load
from collector.snapshot import first_ns

VERSION = version("rigledger")
# What the host's own log tells of the time before was not watched.
WATCHING = ("attempt", "heartbeat", "sample", "engine")
FORMATS: dict[str, Callable[[dict[str, Any]], str]] = {
    "text": report.as_text,
    "md": markdown.as_markdown,
    "html": html.as_html,
    "json": indented,
    "csv": table.as_table,
}


def published(config: Path | None, name: str | None, form: str) -> tuple[str, str]:
    """The period's name and its report in a format; without a name the last full month's.

    A closed month is told as it was closed. Raises BrokenIdentity, DamagedClosing,
    FileNotFoundError, ValueError.
    """
    settings, now = load(config), now_ns()
    period = _period(settings, name, now)
    store = settings.store_path()
    try:
        if name is None:
            _require_begun(store, settings.zone, period.to_ns, config)
        history = closed.filed(store, period.name)
        shelf = Shelf(Ledger(store), settings, now)
        document = _document(history, shelf, period)
        if form == "focus":
            return period.name, focus.as_rows(document, _charges(history, shelf, period, document))
        document["change"] = _change(document, shelf, month_before(period, settings.zone))
    except FileNotFoundError as error:
        raise FileNotFoundError(f"{error}{_demo_hint(store)}") from None
    return period.name, FORMATS[form](document)


def as_closed(settings: Settings, name: str, now: int) -> dict[str, Any] | None:
    """A closed month's document, with what its books tell otherwise now in `restated`; None for a
    month that is open. Raises DamagedClosing, FileNotFoundError."""
    period, store = month_of(name, settings.zone), settings.store_path()
    history = closed.filed(store, name)
    return _document(history, Shelf(Ledger(store), settings, now), period) if history else None


def close(config: Path | None, name: str, *, restate: bool) -> Path:
    """Close a month, or file how its books have changed since; returns the file.

    Raises ClosingRefused, BrokenIdentity, DamagedClosing, FileNotFoundError, ValueError, OSError.
    """
    settings, now = load(config), now_ns()
    period, store = month_of(name, settings.zone), settings.store_path()
    closing.require_over(settings, period, now)
    _require_begun(store, settings.zone, period.to_ns, config)
    history = closed.filed(store, name)
    if history and not restate:
        raise closed.ClosingRefused(f"{name} is closed already; --restate files what has changed")
    shelf = Shelf(Ledger(store), settings, now)
    told = closing.content(shelf, period, VERSION)
    if restate:
        told = closing.restated(history, told, settings)
    told["charges"] = closing.charged(shelf, period, told["report"]["cost_nano"]["total"])
    if restate:
        return closed.restate(store, name, told, history[-1].sha256)
    return closed.close(store, name, told)


def _document(history: list[Filed], shelf: Shelf, period: Period) -> dict[str, Any]:
    if not history:
        return {**account(shelf, period), "closed": None, "restated": []}
    told: Content | BrokenIdentity
    try:
        told = closing.content(shelf, period, VERSION)
    except BrokenIdentity as error:
        told = error
    return closing.shown(history, told, shelf.settings)


def _change(document: dict[str, Any], shelf: Shelf, before: Period) -> dict[str, Any]:
    """Beside the month before as it was closed, or as the books tell it now."""
    store, zone = shelf.ledger.path, shelf.settings.zone
    first = first_ns(store, WATCHING)
    if first is None or first >= before.to_ns:
        begun = "hold no event" if first is None else f"begin {day_at(first, zone).name}"
        return nothing(before.name, f"the books {begun}")
    try:
        history = closed.filed(store, before.name)
        told = history[0].content["report"] if history else account(shelf, before, sheets=())
    except (BrokenIdentity, DamagedClosing) as error:
        return nothing(before.name, f"{before.name}: {error}")
    found = change(document, told)
    if first > before.from_ns:
        found["notes"].insert(0, f"the books begin {day_at(first, zone).name}")
    return found


def _charges(
    history: list[Filed], shelf: Shelf, period: Period, document: dict[str, Any]
) -> list[dict[str, Any]]:
    if history:
        filed: list[dict[str, Any]] = history[0].content["charges"]
        return filed
    return closing.charged(shelf, period, document["cost_nano"]["total"])


def _period(settings: Settings, name: str | None, now: int) -> Period:
    zone = settings.zone
    period = month_of(name, zone) if name else month_before(month_at(now, zone), zone)
    if period.from_ns > now:
        raise ValueError(f"{period.name} has not begun; name a month that has")
    return period


def _require_begun(store: Path, zone: ZoneInfo, before_ns: int, config: Path | None) -> None:
    """Raise ValueError where the books begin after the month: it would be empty."""
    first = first_ns(store, WATCHING)
    if first is None:
        raise ValueError(f"{store} holds no event yet; leave `rigledger up` running")
    if first >= before_ns:
        raise ValueError(
            f"The books begin {day_at(first, zone).name};"
            f" try `{invocation(config)} report {month_at(first, zone).name}`"
        )


def _demo_hint(store: Path) -> str:
    """How to report on the demo, where its ledger is the only one."""
    config = store / "demo" / "rigledger.toml"
    if not (config.is_file() and (config.parent / MANIFEST).is_file()):
        return ""
    return f"; the demo's books: `{invocation(config)} report`"
