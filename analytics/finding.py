"""What a doctor says: one line per finding, each with its remedy."""

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from typing import Any, Literal


@dataclass(frozen=True)
class Finding:
    """`area` is what it is about; `remedy` is empty where nothing is to be done."""

    area: str
    level: Literal["ok", "note", "problem"]
    text: str
    remedy: str = ""


def ok(area: str, text: str) -> Finding:
    """All is well."""
    return Finding(area, "ok", text)


def note(area: str, text: str, remedy: str = "") -> Finding:
    """Good to know; the books are kept all the same."""
    return Finding(area, "note", text, remedy)


def problem(area: str, text: str, remedy: str = "") -> Finding:
    """Something that keeps the books from being right."""
    return Finding(area, "problem", text, remedy)


def worst(found: Iterable[Finding]) -> int:
    """The command's exit status: 1 where something is to be mended."""
    return int(any(each.level == "problem" for each in found))


def as_text(found: Iterable[Finding]) -> str:
    """A line per finding."""
    return "\n".join(
        f"{each.level:<8} {each.area:<10} {each.text}{f'; {each.remedy}' if each.remedy else ''}"
        for each in found
    )


def as_json(found: Iterable[Finding]) -> list[dict[str, Any]]:
    """The findings as JSON objects: area, level, text, remedy."""
    return [asdict(each) for each in found]
