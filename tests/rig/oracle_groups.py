"""Groupings of the second books: sums over its leaves, pools shared out by busy cost."""

from collections import defaultdict
from collections.abc import Iterable
from typing import Any, NamedTuple

from rig.oracle import Books, share_out

LABELS = ("model", "project", "session", "key")
Figures = dict[str, int]


class Leaf(NamedTuple):
    """What a leaf of money costs, and whose it is: `labels` is None without a request."""

    pool: str
    state: str
    labels: tuple[str, ...] | None
    nano: int


def leaves(second: Iterable[Books]) -> Iterable[Leaf]:
    """The leaves of books that follow each other."""
    for books in second:
        labels = {r.name: _labels(r.event) for r in books.requests}
        for line in books.money.values():
            for (card, _, state, name, _), nano in line.items():
                yield Leaf(books.pool_name(card), state, labels.get(name), nano)


def _labels(event: Any) -> tuple[str, ...]:
    return tuple(getattr(event, label) or "(none)" for label in LABELS)


def carried(second: list[Books], label: str) -> dict[str, tuple[int, int, Figures]]:
    """By a label: own busy cost, full cost, and cost by state of the groups that carry any."""
    own: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    rest: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    for pool, state, labels, nano in leaves(second):
        if labels is None:
            rest[pool][state] += nano
        else:
            own[pool][labels] += nano  # type: ignore[index]
    place = LABELS.index(label)
    found: dict[str, tuple[Figures, Figures]] = defaultdict(
        lambda: (defaultdict(int), defaultdict(int))
    )
    for pool, busy in own.items():
        if sum(busy.values()) <= 0:
            continue
        for labels, nano in busy.items():
            found[labels[place]][0]["own"] += nano
            found[labels[place]][1]["busy"] += nano
        for state, cost in rest[pool].items():
            for labels, share in share_out(cost, busy).items():  # type: ignore[arg-type]
                found[labels[place]][1][state] += share
    return {
        name: (own["own"], sum(states.values()), {k: v for k, v in states.items() if v})
        for name, (own, states) in found.items()
        if any(states.values())
    }
