"""The overview page's frames: the month, the cards' day, and the months before."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from analytics.books import Books, keep_books
from analytics.intervals import Ints, clip, fill_gaps, intersect, union, union_of
from analytics.month import summarize
from analytics.periods import Period, day_at, month_before
from analytics.read import Ledger
from collector.clock import SECOND_NS
from collector.settings import Settings

TREND_MONTHS = 12
EPISODE_GAP_NS = 60 * SECOND_NS


@dataclass(frozen=True)
class Overview:
    """month: the document of `month.summarize`; strips: the last day's leaves by state (card,
    bucket_ns, state, ns, cost_nano); stranded: that day's episodes, dearest first."""

    month: dict[str, Any]
    strips: pl.DataFrame
    strips_day: str
    stranded: list[dict[str, Any]]


def overview(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> Overview:
    """Account for a period and cut out its last day that has passed."""
    books = keep_books(ledger, settings, period.from_ns, period.to_ns, now_ns)
    day = day_at(max(books.from_ns, books.to_ns - 1), settings.zone)
    return Overview(
        month=summarize(books, settings, period, now_ns),
        strips=strips(books, day),
        strips_day=day.name,
        stranded=stranded(books, day),
    )


def strips(books: Books, day: Period) -> pl.DataFrame:
    """Time and cost by card, 15-minute bucket and state on one day."""
    by = ["card", "bucket_ns", "state"]
    within = pl.col("bucket_ns").is_between(day.from_ns, day.to_ns, closed="left")
    time = books.leaves.filter(within).group_by(by).agg(pl.col("ns").sum())
    cost = books.money.filter(within).group_by(by).agg(pl.col("nano").sum().alias("cost_nano"))
    joined = time.join(cost, on=by, how="left").with_columns(pl.col("cost_nano").fill_null(0))
    return joined.sort(by)


def stranded(books: Books, day: Period) -> list[dict[str, Any]]:
    """Spells in which requests waited on one card while others of its pool stood by.

    Spells less than a minute apart are one episode; its cost is the stranded leaves' within it,
    each 15-minute leaf by its stranded time.
    """
    waiting = [clip(spells, day.from_ns, day.to_ns) for spells in books.evidence.waiting.values()]
    idle = books.states.filter(state="stranded")
    found = []
    for episode in _episodes(waiting, idle):
        start, end = int(episode[0]), int(episode[1])
        part = idle.filter(pl.col("end_ns") > start, pl.col("start_ns") < end)
        length = part["end_ns"].clip(upper_bound=end) - part["start_ns"].clip(lower_bound=start)
        found.append(
            {
                "from_ns": start,
                "to_ns": end,
                "cards_waiting": _waiting_cards(books, start, end),
                "cards_idle": sorted(part["card"].unique().to_list()),
                "stranded_ns": int(length.sum()),
                "cost_nano": _cost(books, part.with_columns(ns=length)),
            }
        )
    return sorted(found, key=lambda episode: -episode["cost_nano"])


def trend(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> list[dict[str, Any]]:
    """The full price and the API lines of the period's month and those before, oldest first.

    It stops at the first month without a request.
    """
    months: list[dict[str, Any]] = []
    for _ in range(TREND_MONTHS):
        books = keep_books(ledger, settings, period.from_ns, period.to_ns, now_ns)
        document = summarize(books, settings, period, now_ns)
        if not document["tokens"]["requests"]:
            break
        months.append(
            {
                "month": period.name,
                "full_nano_per_mtok": document["cost_per_mtok"]["full"]["output"],
                "compare": {
                    entry["name"]: entry["same_hits_nano_per_mtok"] for entry in document["compare"]
                },
                "provisional": document["period"]["provisional"],
            }
        )
        period = month_before(period, settings.zone)
    return months[::-1]


def _episodes(waiting: list[Ints], idle: pl.DataFrame) -> Ints:
    """Stretches of waiting during which a card was stranded, near ones joined."""
    spells = intersect(
        union_of(waiting), union(idle["start_ns"].to_numpy(), idle["end_ns"].to_numpy())
    )
    return fill_gaps(spells, EPISODE_GAP_NS)


def _waiting_cards(books: Books, start: int, end: int) -> list[str]:
    waited = books.rows.filter(
        pl.col("compute_ns") > pl.col("start_ns"),
        pl.col("start_ns") < end,
        pl.col("compute_ns") > start,
    )
    return sorted(waited["card"].unique().to_list())


def _cost(books: Books, part: pl.DataFrame) -> int:
    """The episode's share of its stranded leaves' cost, by time within each leaf."""
    by = ["card", "bucket_ns"]
    cost = books.money.filter(state="stranded").group_by(by).agg(pl.col("nano").sum())
    whole = books.leaves.filter(state="stranded").group_by(by).agg(pl.col("ns").sum().alias("of"))
    share = part.group_by(by).agg(pl.col("ns").sum()).join(cost, on=by).join(whole, on=by)
    product = pl.col("nano").cast(pl.Int128) * pl.col("ns") // pl.col("of")
    return int(share.select(product.cast(pl.Int64).sum()).item() or 0)
