"""Public price lists in JSON as sheets, with a list of what a sheet cannot say."""

import datetime as dt
import json
from collections.abc import Callable, Iterable, Iterator, Sequence
from decimal import Decimal
from fnmatch import fnmatchcase
from pathlib import Path
from typing import Any

from msgspec.structs import replace

from analytics.prices import litellm, openrouter
from analytics.prices.sheet import Sheet
from collector.settings_types import SettingsError

Left = tuple[str, str]
KINDS: dict[str, Callable[[Any], tuple[list[Sheet], list[Left]]]] = {
    "litellm": litellm.sheets,
    "openrouter": openrouter.sheets,
}


def read_list(
    kind: str, file: Path, only: Sequence[str], since: dt.datetime | None
) -> tuple[list[Sheet], list[Left]]:
    """The sheets of a file's models, those of `only` where it names any, and what is left out.

    Prices count from `since` on, or since ever. Raises SettingsError for a file of another shape.
    """
    try:
        data = json.loads(file.read_text(encoding="utf-8"), parse_float=Decimal)
    except OSError as error:
        reason = (error.strerror or "cannot be read").lower()
        raise SettingsError(f"{file}: {reason}; name a readable file") from None
    except ValueError as error:
        raise SettingsError(f"{file}: no JSON ({error}); download it again") from None
    try:
        found, left = KINDS[kind](data)
    except ValueError as error:
        raise SettingsError(f"{file}: {error}") from None
    patterns = [*only, *(f"{kind}/{pattern}" for pattern in only)]
    asked = [
        sheet
        for sheet in found
        if not only or any(fnmatchcase(sheet.id, pattern) for pattern in patterns)
    ]
    names = {sheet.id for sheet in asked}
    mine = [(name, what) for name, what in left if not only or name in names]
    return [*_taken(asked, mine, since)], mine


def _taken(
    sheets: Iterable[Sheet], left: Iterable[Left], since: dt.datetime | None
) -> Iterator[Sheet]:
    """The sheets with what they cannot say, their prices from an instant on."""
    whats: dict[str, set[str]] = {}
    for name, what in left:
        whats.setdefault(name, set()).add(what)
    for sheet in sheets:
        periods = sheet.periods if since is None else [replace(sheet.periods[0], from_=since)]
        yield replace(sheet, periods=periods, left_out=sorted(whats.get(sheet.id, ())))


def left_out(left: Iterable[Left]) -> Iterator[str]:
    """A line for each thing that sheets cannot say, with the sheets that it is of."""
    names: dict[str, list[str]] = {}
    for name, what in left:
        names.setdefault(what, []).append(name)
    for what, of in names.items():
        more = f" and {len(of) - 3:,} more" if len(of) > 3 else ""
        yield f"{what}: {', '.join(of[:3])}{more}"
