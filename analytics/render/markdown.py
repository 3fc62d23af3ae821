"""A month as Markdown: the words of the text report, its figures in tables."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Any

from analytics.render.parts import Block, Note, Part, Row
from analytics.render.report import blocks

# What Markdown would read as its own: emphasis, code, links, HTML, entities and cell borders.
_OWN = re.compile(r"([\\`*_\[\]<>|&~])")


def as_markdown(month: dict[str, Any]) -> str:
    """The report as GitHub-flavoured Markdown; names in it are escaped, never interpreted."""
    head, *rest = blocks(month)
    chunks = [f"# {_escaped(head[0])}", *(_escaped(part) for part in head[1:])]
    for block in rest:
        chunks += _chunks(block)
    return "\n\n".join(chunks)


def _chunks(block: Block) -> Iterator[str]:
    for kind, parts in groupby(block, type):
        if kind is Row:
            yield _table([part for part in parts if isinstance(part, Row)])
        elif kind is Note:
            yield "\n".join(f"- {_escaped(part)}" for part in parts)
        else:
            yield from (f"## {_escaped(part)}" for part in parts)


def _table(rows: list[Row]) -> str:
    """Rows of unlike lengths get empty cells at their end; there is no header to speak of."""
    width = max(len(row.values) for row in rows)
    head = ["", *[""] * width]
    body = ([row.label, *row.values, *[""] * (width - len(row.values))] for row in rows)
    return "\n".join([_row(head), _row(["---", *["---:"] * width]), *map(_cells, body)])


def _cells(cells: Iterable[str]) -> str:
    return _row(_escaped(cell) for cell in cells)


def _row(cells: Iterable[str]) -> str:
    return f"| {' | '.join(cells)} |"


def _escaped(part: Part) -> str:
    return _OWN.sub(r"\\\1", " ".join(str(part).split()))
