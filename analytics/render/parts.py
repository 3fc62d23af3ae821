"""What a report says, in no format: headings, rows of a label and its figures, and notes."""

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


def line(part: Part) -> str:
    """A part as a line of plain text."""
    if isinstance(part, Row):
        return f"  {part.label:<30}" + "  ".join(f"{value:>16}" for value in part.values)
    return f"  {part}" if isinstance(part, Note) else part


def as_lines(blocks: list[Block]) -> str:
    """Blocks as plain text, an empty line between them."""
    return "\n\n".join("\n".join(map(line, block)) for block in blocks)
