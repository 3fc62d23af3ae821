"""A local day of the books, condensed: what every report and page of that day adds up.

Built once from `Books` when the day is over, kept as Parquet beside the ledger, and rebuilt when
news of it arrives (`daily`).
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import polars as pl

from analytics.books import Books
from analytics.cost import NO_REQUEST, money_nano, priced
from analytics.evidence import GAP_PERIODS
from analytics.intervals import union
from analytics.periods import day_at
from analytics.states import BUCKET_NS
from analytics.timeline import PREFILL_ONLY
from analytics.utilization import peaks
from collector.settings import Settings

CELL = ["card", "bucket_ns", "state"]
KINDS = ("new", "output", "unsplit")
LABELS = ("model", "project", "session")
ENDED = [
    "source", "event_id", *LABELS, "operation", "status", "usage_source", "end_ns",
    "input_tokens", "cache_read_tokens", "output_tokens",
    "is_request", "is_carded", "is_odd", "is_split",
]  # fmt: skip


@dataclass(frozen=True)
class Day:
    """One local day, or the part of it that a period or the present leaves.

    cells: by card (and its pool), bucket_ns and state: ns, host_off_ns, capital_nano, energy_nano,
    energy_uj, host_uj, known_ns (time whose energy is known), idle_uj and marginal_nano (None
    where the idle draw or a price is unknown), mixed_ns, unattributed_ns, unattributed_nano.
    costs: by request and card: source, event_id, pool, labels, and per kind of work ns and nano.
    ended: the attempts that ended in it, one row each, as the ledger tells them, and whether each
    is in the books (`is_carded`), possible (`is_odd`) and split into kinds (`is_split`).
    facts: unassigned_nano, resets, pending_ns, gaps ([start, end] ns), clock_steps ([at, step] ns)
    and peaks (by card).
    """

    name: str
    from_ns: int
    to_ns: int
    cells: pl.DataFrame
    costs: pl.DataFrame
    ended: pl.DataFrame
    facts: dict[str, Any]


def split(books: Books, settings: Settings) -> list[Day]:
    """Cut books into local days. Every leaf of the books is in exactly one day."""
    spans = list(_spans(books, settings))
    cells = _cells(books, settings)
    costs = _costs(books)
    ended = _ended(books)
    return [
        Day(
            name=name,
            from_ns=start,
            to_ns=end,
            cells=_within(cells, "bucket_ns", start, end),
            costs=_condensed(_within(costs, "bucket_ns", start, end), books),
            ended=_within(ended, "end_ns", start, end),
            facts=_facts(books, settings, start, end),
        )
        for name, start, end in spans
    ]


def _spans(books: Books, settings: Settings) -> Iterator[tuple[str, int, int]]:
    start = books.from_ns
    while start < books.to_ns:
        day = day_at(start, settings.zone)
        end = min(day.to_ns, books.to_ns)
        yield day.name, start, end
        start = end


def _cells(books: Books, settings: Settings) -> pl.DataFrame:
    alone = pl.col("request") == NO_REQUEST
    busy = pl.col("state") == "busy"
    time = books.leaves.group_by(CELL).agg(
        pl.col("ns").sum(),
        pl.col("ns").filter(alone & busy).sum().alias("unattributed_ns"),
    )
    length = pl.col("end_ns") - pl.col("start_ns")
    off = books.states.group_by(CELL).agg(
        length.filter("host_off").sum().alias("host_off_ns"),
    )
    category = pl.col("category")
    money = books.money.group_by(CELL).agg(
        pl.col("nano").filter(category == "capital").sum().alias("capital_nano"),
        pl.col("nano").filter(category == "energy").sum().alias("energy_nano"),
        pl.col("nano").filter(alone & busy).sum().alias("unattributed_nano"),
    )
    cards = books.card_energy.rename({"ns": "known_ns"})
    host = books.host_energy.rename({"energy_uj": "host_uj"})
    cells = time.join(off, on=CELL, how="left")
    for more in (money, cards, host):
        cells = cells.join(more, on=CELL, how="left")
    zero = ["capital_nano", "energy_nano", "unattributed_nano", "energy_uj", "host_uj"]
    cells = cells.with_columns(pl.col([*zero, "known_ns", "mixed_ns"]).fill_null(0))
    cells = cells.join(_pools(books), on="card", how="left")
    return cells.with_columns(marginal_nano=_marginal(settings)).sort(CELL)


def _pools(books: Books) -> pl.DataFrame:
    """The pools that each card serves, as one name; a card without an engine is its own."""
    return pl.DataFrame(
        [(card.uuid, "+".join(card.pools) or card.uuid) for card in books.cards],
        schema={"card": pl.String, "pool": pl.String},
        orient="row",
    )


def _marginal(settings: Settings) -> pl.Expr:
    """The energy above the idle draw, in money, where both and a price are known."""
    above = money_nano(pl.col("energy_uj") - pl.col("idle_uj"), settings)
    return pl.when(priced(settings)).then(above)


def _costs(books: Books) -> pl.DataFrame:
    """Time and money by bucket, card, request and kind."""
    by = ["bucket_ns", "card", "request", "kind"]
    own = pl.col("request") != NO_REQUEST
    time = books.leaves.filter(own).select(*by, "ns")
    money = books.money.filter(own).group_by(by).agg(pl.col("nano").sum())
    return time.join(money, on=by, how="left").with_columns(pl.col("nano").fill_null(0))


def _condensed(costs: pl.DataFrame, books: Books) -> pl.DataFrame:
    """One row per request and card, its work by kind side by side, under its own name."""
    sums = [
        pl.col(column).filter(pl.col("kind") == kind).sum().alias(f"{kind}_{column}")
        for kind in KINDS
        for column in ("ns", "nano")
    ]
    wide = costs.group_by("request", "card").agg(sums)
    names = books.rows.unique("request").select("request", "source", "event_id", *LABELS)
    wide = wide.join(names, on="request", how="left").join(_pools(books), on="card", how="left")
    return wide.drop("request").sort("source", "event_id", "card")


def _ended(books: Books) -> pl.DataFrame:
    carded = books.rows.filter(pl.col("card").is_in([card.uuid for card in books.cards]))
    since = pl.col("start_ns") - pl.col("received_at_ns")
    odd = (
        (pl.col("cache_read_tokens") > pl.col("input_tokens"))
        | (pl.col("cache_write_tokens") > pl.col("input_tokens"))
        | (pl.col("reasoning_tokens") > pl.col("output_tokens"))
        | (pl.col("first_token_ns") > pl.col("end_ns"))
        | (pl.col("first_token_ns") < pl.col("start_ns"))
        | (pl.col("start_ns") + pl.col("wait_ns") > pl.col("end_ns"))
        | (since > pl.col("end_ns") - pl.col("received_at_ns"))
    )
    return books.attempts.with_columns(
        is_carded=pl.struct("source", "event_id").is_in(
            carded.select(pl.struct("source", "event_id")).to_series().implode()
        ),
        is_odd=odd.fill_null(False),
        is_split=pl.col("first_token_ns").is_not_null() | pl.col("operation").is_in(PREFILL_ONLY),
    ).select(ENDED)


def _facts(books: Books, settings: Settings, start: int, end: int) -> dict[str, Any]:
    unknown = _within(books.states.filter(state="unknown"), "start_ns", start, end)
    gaps = union(unknown["start_ns"].to_numpy(), unknown["end_ns"].to_numpy())
    resets = _within(books.intervals.filter("reset"), "at_ns", start, end)
    found = peaks(books.cards, books.rows, start, end)
    return {
        "unassigned_nano": int(_within(books.unassigned, "bucket_ns", start, end)["nano"].sum()),
        "resets": len(resets),
        "pending_ns": _pending_ns(books, end),
        "clock_steps": [step for step in books.host.steps if start <= step[0] < end],
        "gaps": [[int(a), int(b)] for a, b in gaps],
        "peaks": {card: peak.as_dict() for card, peak in found.items()},
    }


def _pending_ns(books: Books, end: int) -> int:
    """Card time at the present end of the books that waits for a reading not yet due."""
    if end != books.to_ns or end % BUCKET_NS == 0:
        return 0
    read = books.intervals.filter(pl.col("at_ns") <= end, ~pl.col("gap"))
    length = pl.col("at_ns") - pl.col("from_ns")
    last = read.group_by("card").agg(pl.col("at_ns").max(), length.last().alias("usual"))
    since = end - pl.col("at_ns")
    due = since <= GAP_PERIODS * pl.col("usual")
    return int(last.select(pl.when(due).then(since).otherwise(0).sum()).item() or 0)


def _within(frame: pl.DataFrame, by: str, start: int, end: int) -> pl.DataFrame:
    return frame.filter(pl.col(by) >= start, pl.col(by) < end)


def joined(days: list[Day], part: str) -> pl.DataFrame:
    """One frame (`cells`, `costs` or `ended`) over several days."""
    frames: list[pl.DataFrame] = [getattr(day, part) for day in days]
    return pl.concat(frames)


def gaps(days: list[Day]) -> list[list[int]]:
    """The stretches without a witness, those that meet at midnight joined."""
    found: list[list[int]] = []
    for start, end in (gap for day in days for gap in day.facts["gaps"]):
        if found and found[-1][1] == start:
            found[-1][1] = end
        else:
            found.append([start, end])
    return found
