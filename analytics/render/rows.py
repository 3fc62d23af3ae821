"""Rows of a query as an aligned table, as JSON or as CSV that a spreadsheet may open."""

import csv
import datetime as dt
import io
import json
import math
import unicodedata
from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from analytics.render.indented import indented

CELL_MAX = 60
# A spreadsheet takes a text that starts so for a formula and runs it.
FORMULA = ("=", "+", "-", "@", "\t", "\r")
Rows = Sequence[Sequence[Any]]


def as_table(names: Sequence[str], numeric: Sequence[bool], rows: Rows) -> str:
    """Columns side by side, numbers to the right; long cells are cut, NULL is empty."""
    cells = [[_cell(value) for value in row] for row in rows]
    head = [_printable(name) for name in names]
    widths = [max(map(_width, column)) for column in zip(head, *cells, strict=True)]

    def line(row: Sequence[str]) -> str:
        parts = [
            " " * (width - _width(cell)) + cell if right else cell + " " * (width - _width(cell))
            for cell, width, right in zip(row, widths, numeric, strict=True)
        ]
        return "  ".join(parts).rstrip()

    return "\n".join([line(head), "  ".join("-" * width for width in widths), *map(line, cells)])


class SameName(ValueError):
    """Two columns of a query bear one name, and an object takes it once."""


def as_json(names: Sequence[str], rows: Rows) -> str:
    """A list of objects; instants as ISO 8601, exact decimals as text, NaN as null. Raises
    SameName."""
    twice = next((name for place, name in enumerate(names) if name in names[:place]), None)
    if twice is not None:
        raise SameName(
            f"two columns are called {_printable(twice)!r}; give each a name of its own with AS"
        )
    told = [dict(zip(names, map(_plain, row), strict=True)) for row in rows]
    return indented(told)


def as_csv(names: Sequence[str], rows: Rows) -> str:
    """CSV with a header; NULL is empty, and text that looks like a formula is defused."""
    told = [list(names), *([_flat(value) for value in row] for row in rows)]
    return "\n".join(_csv_line([_safe(value) for value in row]) for row in told)


def _csv_line(row: list[Any]) -> str:
    # The module quotes a lone CR only where CR is part of its line end.
    out = io.StringIO()
    csv.writer(out, lineterminator="\r\n").writerow(row)
    return out.getvalue().removesuffix("\r\n")


def _safe(value: Any) -> Any:
    if isinstance(value, Decimal):
        return f"{value:f}"  # never with an exponent, which not every reader knows
    return f"'{value}" if isinstance(value, str) and value.startswith(FORMULA) else value


def _flat(value: Any) -> Any:
    """Numbers stay numbers; all else is text."""
    plain = value if isinstance(value, Decimal) else _plain(value)
    if isinstance(plain, dict | list | bool):
        return json.dumps(plain, ensure_ascii=False)
    return plain


def _plain(value: Any) -> Any:
    """A value that JSON knows."""
    if isinstance(value, dict):
        return {str(key): _plain(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(item) for item in value]
    if isinstance(value, float):
        return value if math.isfinite(value) else None
    if isinstance(value, bytes):
        return value.hex()
    if isinstance(value, dt.datetime | dt.date | dt.time):
        return value.isoformat()
    return value if value is None or isinstance(value, str | int) else str(value)


def _cell(value: Any) -> str:
    if isinstance(value, dt.datetime):
        value = value.isoformat(sep=" ")
    elif isinstance(value, float):
        value = f"{value:.15g}"
    flat = _flat(value)
    text = "" if flat is None else _printable(str(flat))
    return text if len(text) <= CELL_MAX else text[: CELL_MAX - 1] + "…"


def _printable(text: str) -> str:
    """Without line ends and escape sequences, which would move the terminal's cursor."""
    return "".join(" " if unicodedata.category(sign)[0] == "C" else sign for sign in text)


def _width(text: str) -> int:
    """Terminal columns: wide signs take two, combining ones none."""
    return sum(
        0 if unicodedata.combining(sign) else 1 + (unicodedata.east_asian_width(sign) in "WF")
        for sign in text
    )
