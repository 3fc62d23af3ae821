"""Reads price sheets: those that come with the product, and one's own, strictly."""

from functools import cache, lru_cache
from pathlib import Path

import msgspec

from analytics.prices.rules import Rule
from analytics.prices.sheet import Sheet
from analytics.prices.sheet_check import faults
from collector.settings_types import SettingsError
from collector.toml_read import read_toml

BUNDLED = Path(__file__).parent / "sheets"
RULES = Path(__file__).parent / "rules.toml"
FETCHED = "genai-prices.json"  # in one's own folder, from `rigledger prices update`

# What to write instead, by key; keys that are not here are told by their type.
_PRICE = 'write a price per million tokens in quotes, like "0.15"'
_HOLIDAYS = 'write the two letters of a country in quotes, like "CN"'
_REMEDY = {
    "id": 'write a name in quotes, like "provider/model"',
    "currency": 'write the three capital letters of its code, like "USD"',
    "input": _PRICE,
    "cache_read": _PRICE,
    "cache_write": 'write a price for each time to live, like {default = "1.25", "1h" = "2"}',
    "default": _PRICE,
    "output": _PRICE,
    "reasoning": _PRICE,
    "per_request": 'write the price of one request in quotes, like "0.005"',
    "storage_mtok_hour": 'write a price per million tokens and hour in quotes, like "0.50"',
    "from": "write an instant with its offset and without quotes, like 2026-08-16T16:00:00Z",
    "to": "write an instant with its offset and without quotes, like 2026-08-16T16:00:00Z",
    "periods": "write [[sheets.periods]] with its prices under the sheet",
    "windows": 'write hours and minutes in quotes, like ["09:00-12:00", "22:00-02:00"]',
    "days": 'write a list of days, like ["mon", "fri"]',
    "dates": "write a list of dates without quotes, like [2026-12-24]",
    "except_dates": "write a list of dates without quotes, like [2026-12-24]",
    "holidays": _HOLIDAYS,
    "except_holidays": _HOLIDAYS,
    "when": 'write its conditions, like {windows = ["09:00-12:00"], tz = "Asia/Shanghai"}',
    "multiply": 'write a factor for a price or for all, like {"*" = "0.5"}',
    "tokenizer_ratio": 'write the provider\'s tokens for each of yours in quotes, like "1.1"',
}


class RuleFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file of rules."""

    rules: list[Rule]


class SheetFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file of sheets."""

    sheets: list[Sheet]


@cache
def bundled() -> tuple[Sheet, ...]:
    """The sheets of `analytics/prices/sheets/`."""
    return tuple(_of_folder(BUNDLED))


@cache
def bundled_rules() -> tuple[Rule, ...]:
    """The rules of `analytics/prices/rules.toml`."""
    return tuple(msgspec.toml.decode(RULES.read_bytes(), type=RuleFile).rules)


def own_sheets(folder: Path) -> list[Sheet]:
    """The sheets of every TOML file in a folder, in the order of their names.

    Raises SettingsError with `file:line: table.key: what is wrong; remedy`.
    """
    return _of_folder(folder)


def fetched(folder: Path) -> bytes | None:
    """What was fetched of genai-prices into the folder, as it came; None where nothing was."""
    path = folder / FETCHED
    return path.read_bytes() if path.exists() else None


def _of_folder(folder: Path) -> list[Sheet]:
    return [sheet for path in sorted(folder.glob("*.toml")) for sheet in sheets_of(path)]


def sheets_of(path: Path) -> tuple[Sheet, ...]:
    """The sheets of one file. Raises SettingsError."""
    try:
        text = path.read_text(encoding="utf-8")
    except UnicodeDecodeError:
        raise SettingsError(f"{path}: not UTF-8 text; save it as UTF-8") from None
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{path}: {reason}; make it readable or move it away") from None
    return _parsed(text, str(path))


# An imported list is long, and a page asks for it again and again.
@lru_cache(maxsize=16)
def _parsed(text: str, name: str) -> tuple[Sheet, ...]:
    return tuple(parse_sheets(text, name))


def parse_sheets(text: str, name: str) -> list[Sheet]:
    """The sheets of a TOML text; `name` stands for the file. Raises SettingsError."""
    found, refusal = read_toml(text, name, SheetFile, _REMEDY)
    for fault in faults(found.sheets):
        raise refusal(fault)
    return found.sheets
