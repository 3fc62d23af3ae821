"""A month for good: what is frozen when it is closed, and how it is shown from then on."""

import hashlib
import json
from collections.abc import Mapping, Sequence
from typing import Any, cast

import msgspec

from analytics.charges import charges
from analytics.fingerprints import RULES
from analytics.identities import BrokenIdentity
from analytics.month import account
from analytics.periods import Period
from analytics.prices.catalogue import Catalogue, NoSuchSheet
from analytics.record import DAY_NS, LOOKBACK_NS, around_ns
from analytics.restate import kept, restatement
from analytics.shelf import PEAK_DAYS_NS, Shelf
from collector.clock import from_ns as instant
from collector.closed import ClosingRefused, Filed
from collector.settings import Settings
from collector.touched import HOUR_NS

Content = dict[str, Any]


def content(shelf: Shelf, period: Period, version: str) -> Content:
    """A month's books as they are computed now, and what they rest on.

    report: the document of `month.account`; settings: those that figures rest on; inputs: the
    program's version and rules, the number of the last news of each hour by kind, and digests of
    the price sheets and of all that days rest on. Raises BrokenIdentity, FileNotFoundError.
    """
    born, news = shelf.news
    told: Content = {
        "month": period.name,
        "from_ns": period.from_ns,
        "to_ns": period.to_ns,
        "closed_at_ns": shelf.now_ns,
        "report": account(shelf, period),
        "settings": kept(shelf.settings),
        "inputs": {
            "version": version,
            "rules": RULES,
            "ledger": born,
            "assumptions": shelf.assumptions,
            "tables": shelf.tables,
            "sheets": _sheets(shelf.settings),
            "news": _news(news, period),
        },
    }
    # As it will be read: what is filed and what is computed are compared.
    return cast(Content, json.loads(json.dumps(told)))


def charged(shelf: Shelf, period: Period, total_nano: int) -> list[dict[str, Any]]:
    """The period's charges (`charges.charges`). Raises BrokenIdentity unless they are its cost."""
    found = charges(shelf.days(period.from_ns, period.to_ns))
    carried = sum(charge["nano"] for charge in found)
    if carried != total_nano:
        raise BrokenIdentity(f"Σ charges = total: {carried} ≠ {total_nano}; nothing is published")
    return found


def require_over(settings: Settings, period: Period, now_ns: int) -> None:
    """Raise ClosingRefused while a month runs, or a request after it may still decide on its newest
    gap, at twice the gap as well."""
    resolved_ns = period.to_ns + around_ns(settings)
    if now_ns < resolved_ns:
        at = instant(resolved_ns).astimezone(settings.zone)
        raise ClosingRefused(
            f"{period.name} is not over until its last pause is known, {at:%Y-%m-%d %H:%M};"
            " close it then"
        )


def shown(
    history: Sequence[Filed], computed: Content | BrokenIdentity, settings: Settings
) -> Content:
    """A closed month's document: as it was closed, with its restatements in `restated`.

    The last of them is what the books tell now where that differs and nobody has filed it; its
    number is None.
    """
    first = history[0]
    restated = [{**each.content["restated"], "number": each.number} for each in history[1:]]
    if isinstance(computed, BrokenIdentity):
        why = [{"input": "program", "what": str(computed)}]
        restated.append({"number": None, "at": None, "figures": [], "groups": {}, "why": why})
    elif (now := restatement(history[-1].content, computed, settings)) is not None:
        restated.append(now)
    closed_at = instant(first.content["closed_at_ns"]).isoformat()
    closed = {"at": closed_at, "sha256": first.sha256}
    return {**first.content["report"], "closed": closed, "restated": restated}


def restated(history: Sequence[Filed], computed: Content, settings: Settings) -> Content:
    """What to file behind a closed month whose books now differ. Raises ClosingRefused."""
    month = computed["month"]
    if not history:
        raise ClosingRefused(f"{month} is not closed; close it first")
    differs = restatement(history[-1].content, computed, settings)
    if differs is None:
        raise ClosingRefused(f"there is nothing to restate: the books of {month} are as last filed")
    return {**computed, "restated": differs}


def _sheets(settings: Settings) -> dict[str, str | None]:
    """A digest of each price sheet that is compared with; None where there is none of its name."""
    catalogue = Catalogue(settings)
    found: dict[str, str | None] = {}
    for name in settings.compare.sheets:
        try:
            sheet = msgspec.json.encode(catalogue.sheet(name))
        except NoSuchSheet:
            found[name] = None
        else:
            found[name] = hashlib.sha256(sheet).hexdigest()
    return found


def _news(news: Mapping[tuple[str, int], int], period: Period) -> dict[str, list[list[int]]]:
    """The news of all hours that the month's figures may rest on, by kind."""
    since = {
        "attempt": period.from_ns - PEAK_DAYS_NS - LOOKBACK_NS,
        "heartbeat": period.from_ns - DAY_NS,
        "sample": period.from_ns - LOOKBACK_NS - DAY_NS,
    }
    told: dict[str, list[list[int]]] = {}
    for (kind, hour), number in sorted(news.items()):
        if since.get(kind, 0) <= hour * HOUR_NS < period.to_ns + LOOKBACK_NS + DAY_NS:
            told.setdefault(kind, []).append([hour, number])
    return told
