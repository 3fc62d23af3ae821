"""Sheets as TOML, as `analytics.prices.read` reads them again."""

import datetime as dt
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

import msgspec

from analytics.prices.sheet import Sheet
from collector.setup.file import value

FIRST = ("from", "to")


def as_toml(sheets: Iterable[Sheet]) -> str:
    """One `[[sheets]]` after another; what has its default is left out."""
    return "\n".join(line for sheet in sheets for line in _table("sheets", plain(sheet), many=True))


def plain(sheet: Sheet) -> dict[str, Any]:
    """A sheet as dicts, lists and texts, its dates and instants kept."""
    return dict(msgspec.to_builtins(sheet, builtin_types=(dt.datetime, dt.date)))


def period_lines(period: Mapping[str, Any]) -> str:
    """One more period for the last sheet of a file."""
    return "\n".join(_table("sheets.periods", period, many=True))


def _table(name: str, table: Mapping[str, Any], *, many: bool) -> Iterator[str]:
    """A table: its own keys first, then the tables below it."""
    yield f"[[{name}]]" if many else f"[{name}]"
    below = {key: item for key, item in table.items() if _is_table(key)}
    for key, item in sorted(table.items(), key=lambda pair: pair[0] not in FIRST):
        if key not in below:
            yield f"{key} = {value(item)}"
    yield ""
    for key, item in below.items():
        for part in [item] if isinstance(item, Mapping) else item:
            yield from _table(f"{name}.{key}", part, many=not isinstance(item, Mapping))


def _is_table(key: str) -> bool:
    return key in {"periods", "overrides", "cache"}
