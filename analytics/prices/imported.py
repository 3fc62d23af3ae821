"""Public price lists in JSON as sheets, with a list of what a sheet cannot say."""

import datetime as dt
import json
from collections.abc import Callable, Sequence
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
    if since is not None:
        asked = [
            replace(sheet, periods=[replace(sheet.periods[0], from_=since)]) for sheet in asked
        ]
    return asked, [(name, what) for name, what in left if not only or name in names]
