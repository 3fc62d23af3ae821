"""What `rigledger compare` tells: own cost of a period beside price sheets, and the payback."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from analytics.by_hours import by_hours
from analytics.compare import named
from analytics.month import account
from analytics.periods import Period, month_at, month_before, span_of
from analytics.prices.catalogue import Catalogue
from analytics.read import Ledger
from analytics.render.compare import as_text
from analytics.render.indented import indented
from analytics.savings import since_purchase
from analytics.shelf import Shelf
from collector.clock import now_ns
from collector.settings import Settings, load


def answered(
    config: Path | None,
    first: str | None,
    last: str | None,
    sheets: Sequence[str],
    *,
    as_json: bool,
) -> str:
    """The comparison as text or JSON; without days that of the last full month.

    Raises BrokenIdentity, FileNotFoundError, NoSuchSheet, ValueError.
    """
    settings, now = load(config), now_ns()
    names = names_to_compare(settings, sheets)
    period = _period(settings, first, last, now)
    found = comparison(Shelf(Ledger(settings.store_path()), settings, now), period, names)
    return indented(found) if as_json else as_text(found)


def _period(settings: Settings, first: str | None, last: str | None, now: int) -> Period:
    zone = settings.zone
    if first is None:
        if last is not None:
            raise ValueError("--to needs a --from; name the first day or month, too")
        return month_before(month_at(now, zone), zone)
    period = span_of(first, last, zone, now)
    if period.from_ns >= now:
        raise ValueError(f"{first} has not begun; name a day that has")
    return period


def names_to_compare(settings: Settings, asked: Sequence[str]) -> list[str]:
    """The sheets asked for, else those of the settings; each is one that there is.

    Raises NoSuchSheet, SettingsError; ValueError where none is named at all.
    """
    catalogue, names = Catalogue(settings), list(dict.fromkeys(asked or named(settings)))
    for name in names:
        catalogue.sheet(name)
    if not names:
        raise ValueError(
            "there is no price sheet to compare with; name one with --sheet or in [compare] sheets"
            " (`rigledger prices list` shows them)"
        )
    return names


def comparison(shelf: Shelf, period: Period, names: Sequence[str]) -> dict[str, Any]:
    """Own cost of a period, also by the hours of work a day (`by_hours.by_hours`), one entry per
    sheet (`compare.compare`), and the savings since the purchase (`savings.since_purchase`).

    Raises BrokenIdentity.
    """
    month = account(shelf, period, names)
    return {
        "period": month["period"],
        "rig": month["rig"],
        "currency": month["currency"],
        "tokens": month["tokens"],
        "missing_cached": month["quality"]["missing_cached"],
        "cost_nano": {
            "full": month["cost_nano"]["total"],
            "marginal": month["marginal_cost_nano"],
        },
        "at_least": {"full": bool(month["at_least"]), "marginal": month["marginal_at_least"]},
        "per_mtok_nano": {
            name: month["cost_per_mtok"][name]["output"] for name in ("full", "marginal")
        },
        "per_mtok_bound": {
            name: month["cost_per_mtok_bound"][name]["output"] for name in ("full", "marginal")
        },
        "by_hours": by_hours(month),
        "sheets": month["compare"],
        "since_purchase": since_purchase(shelf, names),
    }
