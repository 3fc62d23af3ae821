"""Findings about closed months: whether each is still what was filed."""

from collections.abc import Iterator
from pathlib import Path

from analytics.finding import Finding, ok, problem
from collector import closed


def months(ledger: Path) -> Iterator[Finding]:
    """A finding for each closed month that was changed, else one for all that are closed."""
    names = closed.months(ledger)
    found = [*filter(None, (_month(ledger, name) for name in names))]
    yield from found
    if names and not found:
        count = "1 closed month is" if len(names) == 1 else f"{len(names)} closed months are"
        yield ok("closed", f"{count} as filed")


def _month(ledger: Path, name: str) -> Finding | None:
    try:
        closed.filed(ledger, name)
    except closed.DamagedClosing as error:
        text, _, remedy = str(error).partition("; ")
        return problem("closed", text, remedy)
    return None
