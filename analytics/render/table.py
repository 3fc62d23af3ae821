"""A month as one table for spreadsheets and programs: section, row, figure, value, unit."""

import re
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any

from analytics.render.rows import as_csv

COLUMNS = ("section", "row", "figure", "value", "unit")
NAMES = ("name", "step", "sheet", "figure", "what", "at")  # what a row is known by: the first of it
# By the end of a name: the unit of its figures, and the power of ten of their integers.
UNITS = {"nano": ("{currency}", -9), "ns": ("s", -9), "uj": ("J", -6), "ug": ("g", -6)}
Path = tuple[str, ...]
Leaf = tuple[Path, str, Path, Any]
SUFFIX = re.compile(r"(?:^|_)(nano|ns|uj|ug)(_per_mtok)?$")


def as_table(month: Mapping[str, Any]) -> str:
    """Every figure of a month's document as CSV with a header, in its order.

    Money and time have nine decimals, energy and carbon six, so nothing is rounded. What is not
    known has an empty value. Text that a spreadsheet would take for a formula is defused.
    """
    leaves = (leaf for section, told in month.items() for leaf in _leaves((section,), (), told))
    return as_csv(COLUMNS, [_line(*leaf, month["currency"]) for leaf in leaves])


def as_wide_table(rows: Sequence[Mapping[str, Any]], currency: str) -> str:
    """Rows of a document, such as groups, as CSV with a column per figure and its unit in the
    header; a figure that a row does not tell is empty."""
    told = []
    for row in rows:
        found = {"name": row["name"]}
        for leaf in _leaves((), (), {key: row[key] for key in row if key != "name"}):
            _, _, figure, value, unit = _line(*leaf, currency)
            found[f"{figure}, {unit}" if unit else figure] = value
        told.append(found)
    columns = list(dict.fromkeys(column for row in told for column in row))
    return as_csv(columns, [[row.get(column) for column in columns] for row in told])


def _leaves(section: Path, figure: Path, told: Any, row: str = "") -> Iterator[Leaf]:
    """Names up to a list are its section, names of its rows the row, names below the figure."""
    if isinstance(told, dict):
        for key, value in told.items():
            yield from _leaves(section, (*figure, key), value, row)
    elif isinstance(told, list):
        for number, item in enumerate(told, 1):
            name, rest = _named(item) or (str(number), item)
            yield from _leaves((*section, *figure), (), rest, f"{row} / {name}" if row else name)
    else:
        yield section, row, figure, told


def _named(item: Any) -> tuple[str, dict[str, Any]] | None:
    """A row's name and its figures."""
    known = next((key for key in NAMES if key in item), None) if isinstance(item, dict) else None
    if known is None:
        return None
    return str(item[known]), {key: value for key, value in item.items() if key != known}


def _line(section: Path, row: str, figure: Path, value: Any, currency: str) -> list[Any]:
    unit, scale = "", 0
    for key in (*section, *figure):
        found = SUFFIX.search(key)
        if found or key == "cost_per_mtok":
            unit, scale = UNITS[found[1] if found else "nano"]
            unit += " per million tokens" if not found or found[2] else ""
    if scale and isinstance(value, int) and not isinstance(value, bool):
        value = Decimal(value).scaleb(scale)
    return [_plain(section), row, _plain(figure), value, unit.format(currency=currency)]


def _plain(path: Path) -> str:
    """Names without their units."""
    return ".".join(filter(None, (SUFFIX.sub("", key) for key in path)))
