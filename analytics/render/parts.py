"""What a report says, in no format: headings, rows of a label and its figures, and notes."""

from collections.abc import Iterator
from typing import NamedTuple


class Row(NamedTuple):
    """A label and its figures, already in words and with their units."""

    label: str
    values: tuple[str, ...]


class Note(str):
    """A remark that stands for itself below a block's heading."""

    __slots__ = ()


Part = str | Note | Row
Block = list[Part]


LABEL_WIDTH = 30


def as_lines(blocks: list[Block]) -> str:
    """Blocks as plain text, an empty line between them; a block's figures stand in columns."""
    return "\n\n".join("\n".join(_lines(block)) for block in blocks)


def _lines(block: Block) -> Iterator[str]:
    labels = [len(part.label) for part in block if isinstance(part, Row)]
    width = max([LABEL_WIDTH, *(length + 1 for length in labels)])
    for part in block:
        if isinstance(part, Row):
            yield f"  {part.label:<{width}}" + "  ".join(f"{value:>16}" for value in part.values)
        else:
            yield f"  {part}" if isinstance(part, Note) else part
