"""Reads the sheets that come with the product."""

from functools import cache
from pathlib import Path

import msgspec

from analytics.prices.sheet import Sheet

BUNDLED = Path(__file__).parent / "sheets"


class SheetFile(msgspec.Struct, forbid_unknown_fields=True, frozen=True):
    """A file of sheets."""

    sheets: list[Sheet]


@cache
def bundled() -> tuple[Sheet, ...]:
    """The sheets of `analytics/prices/sheets/`."""
    return tuple(
        sheet
        for path in sorted(BUNDLED.glob("*.toml"))
        for sheet in msgspec.toml.decode(path.read_bytes(), type=SheetFile).sheets
    )
