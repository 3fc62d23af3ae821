"""What a benchmark found, and how it is judged, shown and kept."""

import json
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median
from typing import Any, Literal

HEAD = ("name", "value", "unit", "peers", "target", "met")


@dataclass(frozen=True)
class Target:
    """What a benchmark should reach: `at least` or `at most` a value, in its unit."""

    bound: Literal["at least", "at most"]
    value: float

    def met(self, value: float) -> bool:
        """Whether a value reaches it."""
        return value >= self.value if self.bound == "at least" else value <= self.value

    def __str__(self) -> str:
        return f"{'≥' if self.bound == 'at least' else '≤'} {figure(self.value)}"


@dataclass(frozen=True)
class Result:
    """One benchmark's outcome; `peers` are other ways to the same end, in the same unit."""

    name: str
    value: float
    unit: str
    peers: dict[str, float] = field(default_factory=dict)
    notes: str = ""

    def as_dict(self) -> dict[str, Any]:
        """As it is kept."""
        return {
            "name": self.name,
            "value": self.value,
            "unit": self.unit,
            "peers": self.peers,
            "notes": self.notes,
        }


def figure(value: float) -> str:
    """Three significant digits, whole numbers in full."""
    return f"{value:,.0f}" if abs(value) >= 100 else f"{value:.3g}"


def quantile(values: Sequence[float], share: float) -> float:
    """The value that a share of them stay within."""
    return sorted(values)[min(len(values) - 1, int(len(values) * share))]


def spread(values: Sequence[float]) -> str:
    """The rounds behind a median."""
    low, high = figure(min(values)), figure(max(values))
    return f"median {figure(median(values))} of {len(values)} rounds ({low} to {high})"


def table(results: Iterable[Result], targets: Mapping[str, Target | None]) -> str:
    """Everything as a table for people, with the notes below it."""
    found = list(results)
    rows = [HEAD, *(_row(result, targets[result.name]) for result in found)]
    widths = [max(len(row[column]) for row in rows) for column in range(len(HEAD))]
    lines = ["  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
    notes = [f"{result.name}: {result.notes}" for result in found if result.notes]
    return "\n".join([*lines, "", *notes])


def _row(result: Result, target: Target | None) -> tuple[str, ...]:
    peers = ", ".join(f"{peer} {figure(value)}" for peer, value in result.peers.items())
    met = "-" if target is None else "yes" if target.met(result.value) else "no"
    return (result.name, figure(result.value), result.unit, peers or "-", str(target or "-"), met)


def write(results: Iterable[Result], file: Path) -> None:
    """Keep the results as JSON: a list of name, value, unit, peers and notes."""
    file.parent.mkdir(parents=True, exist_ok=True)
    text = json.dumps([result.as_dict() for result in results], indent=1, ensure_ascii=False)
    file.write_text(text + "\n", encoding="utf-8")
