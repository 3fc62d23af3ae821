"""One request, opened: where it stood on its cards, among whom, what they drew, what it cost."""

import json
from collections.abc import Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Final

import polars as pl

from analytics import decisions, misses
from analytics.books import Books, keep_books
from analytics.day import Day
from analytics.identities import BrokenIdentity
from analytics.lanes import INSTANTS, on_lanes
from analytics.periods import day_at
from analytics.requests import NAME, request
from analytics.rollup import KINDS, SPENT, WORK
from analytics.shelf import Shelf
from collector.clock import SECOND_NS

AROUND_NS: Final = 15 * SECOND_NS
NEIGHBOURS: Final = 80
TOLD: Final = (
    *NAME, "card", "is_split", "is_carded", "prefix", "input_tokens", "cache_read_tokens",
    "recomputed_tokens", "evicted_tokens", "rewritten_tokens", "cached_is_estimated", "route",
)  # fmt: skip
CANDIDATE: Final = ("engine", "hit_tokens", "pending_tokens", "in_flight", "estimate_ms")
UJ_PER_S_NS: Final = 1_000_000  # µJ × this ÷ ns is mW


@dataclass(frozen=True)
class Opened:
    """attempt: its row (`requests.request`), with time and money of all its days, fresh_tokens
    (neither cached nor known to be recomputed; None where not known), cached_is_estimated, its
    cards, and how long it waited, computed before its first token and after it (wait_ns, first_ns,
    then_ns; None where it is on no card).
    decision: the routing decision behind it, None where it told none (`_decision`). misses: its
    prompt tokens that no cache served, with the card time and money of computing them, by why
    (`misses.CAUSES`); empty where no token was, or no first token parts prompt from answer.
    window: the [from, to) shown, ns.

    bars: it and its neighbours on these cards (card, lane, is_it, model, session, `INSTANTS`,
    first_kind), lanes without overlap; left_out: how many neighbours further away are not among
    them. watts: between readings of these cards (card, from_ns, to_ns, mw; None not known).
    """

    attempt: dict[str, Any]
    decision: dict[str, Any] | None
    misses: dict[str, dict[str, int]]
    window: tuple[int, int]
    bars: pl.DataFrame
    left_out: int
    watts: pl.DataFrame


def opened(shelf: Shelf, day: Day, source: str, event_id: str) -> Opened | None:
    """An attempt that ended in a day; None where there is none of the name.

    Raises BrokenIdentity where its misses are not what its prompt took and cost.
    """
    found = request(day, source, event_id)
    if found is None:
        return None
    attempt = _whole(shelf, day, found)
    begin, end = attempt["received_ns"], attempt["end_ns"]
    pad = max(AROUND_NS, (end - begin) // 2)
    window = begin - pad, end + pad
    books = keep_books(shelf.ledger, shelf.settings, day.from_ns, day.to_ns, shelf.now_ns)
    it = books.rows.filter(source=source, event_id=event_id)
    attempt["cards"] = it.sort("card_no")["card"].to_list()
    attempt |= _phases(it)
    bars, left_out = _bars(books, it, window)
    watts = _watts(books, attempt["cards"], window)
    ended = day.ended(*TOLD).filter(source=source, event_id=event_id)
    attempt["cached_is_estimated"] = bool(ended["cached_is_estimated"].item())
    missed = _missed(shelf, day, books, attempt, ended)
    return Opened(attempt, _decision(ended), missed, window, bars, left_out, watts)


def _whole(shelf: Shelf, day: Day, found: Mapping[str, Any]) -> dict[str, Any]:
    """The attempt with what it took and cost on the days before, too."""
    attempt = dict(found)
    name = {column: found[column] for column in NAME}
    if found["ns"] is not None and found["received_ns"] < day.from_ns:
        since = day_at(found["received_ns"], shelf.settings.zone).from_ns
        for earlier in shelf.days(since, day.from_ns):
            costs = earlier.costs(*NAME, *WORK, *SPENT).filter(**name)
            for column in (*WORK, *SPENT):
                attempt[column] += int(costs[column].sum())
        attempt["ns"] = sum(attempt[f"{kind}_ns"] for kind in KINDS)
        attempt["nano"] = sum(attempt[column] for column in SPENT)
    given, cached = attempt["input_tokens"], attempt["cache_read_tokens"]
    is_known = given is not None and cached is not None and not attempt["is_odd"]
    again = attempt["recomputed_tokens"]
    attempt["fresh_tokens"] = given - cached - again if is_known else None
    attempt["recomputed_tokens"] = again if is_known and _is_keyed(day, name) else None
    return attempt


def _decision(ended: pl.DataFrame) -> dict[str, Any] | None:
    """The decision of an attempt as `decisions.told` has it, and its candidates as they were told
    (engine, hit_tokens, pending_tokens, in_flight, estimate_ms; None not told)."""
    told = decisions.told(ended)
    if told.is_empty():
        return None
    route = json.loads(ended["route"].item())
    weighed = [
        {name: each.get(name) for name in CANDIDATE} for each in route.get("candidates") or ()
    ]
    return {**told.row(0, named=True), "candidates": weighed}


def _missed(
    shelf: Shelf, day: Day, books: Books, attempt: Mapping[str, Any], ended: pl.DataFrame
) -> dict[str, dict[str, int]]:
    """Why its prompt was computed, over all days in which it was."""
    every = [books]
    if attempt["ns"] is not None and attempt["received_ns"] < day.from_ns:
        since = day_at(attempt["received_ns"], shelf.settings.zone).from_ns
        every += [
            keep_books(shelf.ledger, shelf.settings, each.from_ns, each.to_ns, shelf.now_ns)
            for each in shelf.days(since, day.from_ns)
        ]
    found = misses.of_one(every, ended)
    for kind, causes in misses.KINDS.items():
        for figure in ("ns", "nano"):
            parts = sum(found[cause][figure] for cause in causes if cause in found)
            if parts != (attempt[f"{kind}_{figure}"] or 0):
                name = f"{attempt['source']}/{attempt['event_id']}"
                raise BrokenIdentity(
                    f"misses of {name}: Σ {' + '.join(causes)} = {kind}, {figure}: "
                    f"{parts} ≠ {attempt[f'{kind}_{figure}']}"
                )
    return found


def _is_keyed(day: Day, name: dict[str, str]) -> bool:
    """Whether it told the keys of its prefixes: without them nobody knows what was recomputed."""
    prefix = day.ended(*NAME, "prefix").filter(**name)["prefix"]
    return bool(prefix.list.len().item() or 0)


def _phases(it: pl.DataFrame) -> dict[str, int | None]:
    names = ("wait_ns", "first_ns", "then_ns")
    if it.is_empty():
        return dict.fromkeys(names)
    instants = it.select(INSTANTS).row(0)
    return {name: end - start for name, (start, end) in zip(names, pairwise(instants), strict=True)}


def _bars(books: Books, it: pl.DataFrame, window: tuple[int, int]) -> tuple[pl.DataFrame, int]:
    """The attempt and those nearest to it on its cards, on lanes."""
    is_it = pl.struct(NAME).is_in(it.select(pl.struct(NAME)).to_series().implode())
    near = books.rows.filter(
        pl.col("card").is_in(it["card"].implode()),
        pl.col("end_ns") > window[0],
        pl.col("start_ns") < window[1],
    ).with_columns(is_it=is_it)
    middle = sum(window) // 2
    apart = pl.max_horizontal(pl.col("start_ns") - middle, middle - pl.col("end_ns"))
    nearest = near.with_columns(apart=apart).sort(~pl.col("is_it"), "apart").head(NEIGHBOURS)
    bars = on_lanes(nearest).select(
        "card", "lane", "is_it", *NAME, "model", "session", *INSTANTS, "first_kind"
    )
    return bars, len(near) - len(nearest)


def _watts(books: Books, cards: list[str], window: tuple[int, int]) -> pl.DataFrame:
    """Mean power between readings, as the energy of the books has it."""
    near = books.intervals.filter(
        pl.col("card").is_in(cards), pl.col("at_ns") > window[0], pl.col("from_ns") < window[1]
    )
    length = pl.col("at_ns") - pl.col("from_ns")
    mw = pl.col("energy_uj").cast(pl.Int128) * UJ_PER_S_NS // length
    return near.sort("card", "from_ns").select(
        "card", "from_ns", to_ns="at_ns", mw=mw.cast(pl.Int64)
    )
