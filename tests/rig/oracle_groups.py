"""Groupings of the second books: sums over its leaves, pools shared out by busy cost."""

import datetime as dt
from collections import defaultdict
from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

from rig import oracle_hours
from rig.oracle import BUCKET, EPOCH, Books, Request, covered, share_out

LABELS = ("model", "project", "session", "key")
PLACES = ("card", "day", "hour")
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
    busy: Figures = defaultdict(int)
    found: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    for pool, combinations in own.items():
        for labels, nano in combinations.items():
            busy[labels[place]] += nano
            found[labels[place]]["busy"] += nano
        if sum(combinations.values()) > 0 and min(combinations.values()) >= 0:
            for state, cost in rest[pool].items():
                for labels, share in share_out(cost, combinations).items():  # type: ignore[arg-type]
                    found[labels[place]][state] += share
    return {
        name: (busy[name], sum(states.values()), some(states))
        for name, states in found.items()
        if any(states.values())
    }


def card_time(second: Iterable[Books], label: str) -> dict[str, Figures]:
    """Card time by a label and kind."""
    found: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    for books in second:
        labels = {r.name: getattr(r.event, label) or "(none)" for r in books.requests}
        for (_, _, _, name, kind), ns in books.time.items():
            if name:
                found[labels[name]][kind] += ns
    return {name: some(kinds) for name, kinds in found.items()}


def place(books: Books, by: str, card: str, bucket: int) -> str:
    """The group of a card and bucket."""
    if by == "card":
        return card
    at = (EPOCH + dt.timedelta(microseconds=bucket // 1000)).astimezone(books.settings.zone)
    return at.date().isoformat() if by == "day" else f"{at.hour:02}"


def states(second: Iterable[Books], by: str) -> tuple[dict[str, Figures], dict[str, Figures]]:
    """Time, and cost, of each group by state."""
    time: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    cost: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    for books in second:
        for (card, bucket, state, _, _), ns in books.time.items():
            time[place(books, by, card, bucket)][state] += ns
        for line in books.money.values():
            for (card, bucket, state, _, _), nano in line.items():
                cost[place(books, by, card, bucket)][state] += nano
    return time, cost


def kinds(second: Iterable[Books], by: str) -> dict[str, Figures]:
    """Busy time of each group by kind, that of no request as `unattributed`."""
    found: dict[str, Figures] = defaultdict(lambda: defaultdict(int))
    for books in second:
        for (card, bucket, state, _, kind), ns in books.time.items():
            if state == "busy":
                found[place(books, by, card, bucket)][kind] += ns
    return found


def emitted(second: Iterable[Books], by: str) -> dict[str, int | None]:
    """Output tokens of each group with a request, spread over the time in which they came; None
    where no request of the group told any."""
    found: dict[str, int | None] = {}
    for books in second:
        for request in books.requests:
            for card, bucket, tokens in _tokens(books, request):
                there = card in books.cards and books.serves(card, bucket)
                if there and books.start <= bucket < books.end:
                    name = place(books, by, card, bucket)
                    told, before = request.event.output_tokens is not None, found.get(name)
                    found[name] = (before or 0) + tokens if told else before
    return found


def _tokens(books: Books, request: Request) -> Iterable[tuple[str, int, int]]:
    """By card and bucket: up to an instant came so many, floored."""
    first = request.split if request.split < request.end else request.compute
    length = request.end - first
    cards = books.cards_of(request)
    for number, card in enumerate(cards):
        tokens = request.event.output_tokens or 0
        own = tokens // len(cards) + (number < tokens % len(cards))
        if not length:
            yield card, request.end // BUCKET * BUCKET, own
            continue
        for bucket in range(first // BUCKET * BUCKET, request.end, BUCKET):
            low, high = max(bucket, first), min(bucket + BUCKET, request.end)
            came = own * (high - first) // length - own * (low - first) // length
            yield card, bucket, came


def requests(second: Iterable[Books], by: str) -> Figures:
    """Requests by where they ended; those on several cards at the first of the rig's that was in
    service while they ran."""
    found: Figures = defaultdict(int)
    for books in second:
        for request in books.requests:
            cards = [
                card
                for card in books.cards_of(request)
                if card in books.cards and served(books, card, request.start, request.end)
            ]
            if books.start <= request.end < books.end and (cards or by != "card"):
                bucket = request.end // BUCKET * BUCKET
                found[place(books, by, cards[0] if cards else "", bucket)] += 1
    return found


def served(books: Books, card: str, start: int, end: int) -> bool:
    """Whether the card was in service at any time of a span."""
    terms = [asset.in_service for asset in books.settings.hardware]
    terms += [engine.from_ for engine in books.settings.engines]
    begins = (books.settings.midnight_ns(day) for day in terms)
    instants = [start, max(start, end - 1), *(at for at in begins if start < at < end)]
    return any(books.serves(card, at) for at in instants)


def headroom(second: Iterable[Books], gap: int) -> int:
    """Headroom of all cards, were the gap another one."""
    total = 0
    for books in second:
        active: Callable[[int], bool] = covered(books.active_windows(gap))
        for card in books.cards:
            for a, b, state in books.segments[card]:
                if books.within(a) and state in ("headroom", "idle") and active(a):
                    total += b - a
    return total


def some(figures: Figures) -> Figures:
    """Without what is nothing."""
    return {name: figure for name, figure in figures.items() if figure}


def assert_groups_equal(document: dict[str, Any], second: list[Books]) -> None:
    """Every grouping of a report against the second books, to the unit."""
    groups = document["groups"]
    for label in LABELS:
        told = {g["name"]: g for g in groups[label]}
        cost = {
            name: (g["busy_cost_nano"], g["full_cost_nano"], some(g["states_cost_nano"]))
            for name, g in told.items()
            if any(g["states_cost_nano"].values())
        }
        assert cost == carried(second, label), label
        time = _by_name(told, "card_time_ns")
        assert time == card_time(second, label), label
    for by in PLACES:
        told = {g["name"]: g for g in groups[by]}
        time, cost = states(second, by)
        assert _by_name(told, "states_ns") == _without_empty(time), by
        assert _by_name(told, "states_cost_nano") == _without_empty(cost), by
        worked = {
            n: g["card_time_ns"] | {"unattributed": g["unattributed_ns"]} for n, g in told.items()
        }
        assert _without_empty(worked) == _without_empty(kinds(second, by)), by
        tokens = {n: g["emitted_tokens"] for n, g in told.items()}
        assert tokens == dict.fromkeys(told, 0) | emitted(second, by), by
        counts = {n: g["requests"] for n, g in told.items()}
        assert some(counts) == some(requests(second, by)), by
    for other in ("half", "twice"):
        told = document["active_gap"][other]
        assert told["headroom_ns"] == headroom(second, told["gap_ns"])
    oracle_hours.assert_equal(document, second)


def _by_name(told: dict[str, Any], figure: str) -> dict[str, Figures]:
    return _without_empty({name: group[figure] for name, group in told.items()})


def _without_empty(groups: dict[str, Figures]) -> dict[str, Figures]:
    return {name: some(figures) for name, figures in groups.items() if any(figures.values())}
