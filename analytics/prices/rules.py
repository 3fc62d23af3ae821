"""What price lists leave out: when a provider's cache hits, and what storage costs there."""

from collections.abc import Iterable
from fnmatch import fnmatchcase

from msgspec import Struct
from msgspec.structs import replace

from analytics.prices.sheet import CachePolicy, Price, Sheet


class Rule(Struct, forbid_unknown_fields=True, kw_only=True, frozen=True):
    """What holds for every sheet whose name fits one of the patterns."""

    sheets: list[str]
    cache: CachePolicy | None = None
    storage_mtok_hour: Price | None = None


def with_rules(sheet: Sheet, rules: Iterable[Rule]) -> Sheet:
    """The sheet with what the first rule that fits knows; what the sheet says itself stays."""
    rule = next((r for r in rules if any(fnmatchcase(sheet.id, p) for p in r.sheets)), None)
    if rule is None:
        return sheet
    stored = rule.storage_mtok_hour
    periods = [
        replace(period, storage_mtok_hour=stored) if period.storage_mtok_hour is None else period
        for period in sheet.periods
    ]
    return replace(
        sheet,
        cache=sheet.cache or rule.cache,
        periods=periods if stored is not None else sheet.periods,
    )
