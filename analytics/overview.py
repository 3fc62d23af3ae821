"""The overview page's frames: the month, the cards' day, and the months before."""

from dataclasses import dataclass
from typing import Any

import polars as pl

from analytics.books import Books, keep_books
from analytics.day import CELL, Day, spent
from analytics.intervals import Ints, clip, fill_gaps, intersect, union, union_of
from analytics.month import account
from analytics.periods import Period, day_at, month_before
from analytics.read import Ledger
from analytics.shelf import Shelf
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
    """Account for a period that has begun, and cut out its last day that has passed."""
    shelf = Shelf(ledger, settings, now_ns)
    last = day_at(min(period.to_ns, now_ns) - 1, settings.zone)
    (day,) = shelf.days(max(last.from_ns, period.from_ns), min(last.to_ns, period.to_ns))
    books = keep_books(ledger, settings, day.from_ns, day.to_ns, now_ns)
    return Overview(
        month=account(shelf, period),
        strips=strips(day),
        strips_day=day.name,
        stranded=stranded(books, last),
    )


def strips(day: Day) -> pl.DataFrame:
    """Time and cost by card, 15-minute bucket and state on one day."""
    return day.cells.select(*CELL, "ns", spent().alias("cost_nano")).sort(CELL)


def stranded(books: Books, day: Period) -> list[dict[str, Any]]:
    """Spells in which requests waited on one card while others of its pool stood by.

    Spells less than a minute apart are one episode; its cost is the stranded leaves' within it,
    each 15-minute leaf by its stranded time.
    """
    idle = books.states.filter(state="stranded")
    found = []
    for pool, waiting in sorted(books.evidence.waiting.items()):
        standing = idle.filter(pl.col("card").is_in(_cards_of(books, pool)))
        for start, end in _episodes(clip(waiting, day.from_ns, day.to_ns), standing):
            found.append(_episode(books, pool, standing, int(start), int(end)))
    return sorted(found, key=lambda episode: -episode["cost_nano"])


def trend(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> list[dict[str, Any]]:
    """The period's month and up to eleven before it that had requests as `entry` tells them,
    oldest first."""
    shelf = Shelf(ledger, settings, now_ns)
    months: list[dict[str, Any]] = []
    for _ in range(TREND_MONTHS):
        if shelf.had_requests(period.from_ns, period.to_ns):
            months.append(entry(account(shelf, period)))
        period = month_before(period, settings.zone)
    return months[::-1]


def entry(month: dict[str, Any]) -> dict[str, Any]:
    """A month's document as the trend tells it: the full price and the API lines."""
    return {
        "month": month["period"]["name"],
        "full_nano_per_mtok": month["cost_per_mtok"]["full"]["output"],
        "compare": {sheet["sheet"]: sheet["headline_nano_per_mtok"] for sheet in month["compare"]},
        "provisional": month["period"]["provisional"],
    }


def _cards_of(books: Books, pool: str) -> list[str]:
    return [card.uuid for card in books.cards if pool in card.pools]


def _episodes(waiting: Ints, idle: pl.DataFrame) -> Ints:
    """Stretches of waiting during which a card was stranded, near ones joined."""
    standing = union(idle["start_ns"].to_numpy(), idle["end_ns"].to_numpy())
    return fill_gaps(intersect(union_of([waiting]), standing), EPISODE_GAP_NS)


def _episode(books: Books, pool: str, idle: pl.DataFrame, start: int, end: int) -> dict[str, Any]:
    part = idle.filter(pl.col("end_ns") > start, pl.col("start_ns") < end)
    length = part["end_ns"].clip(upper_bound=end) - part["start_ns"].clip(lower_bound=start)
    waited = books.rows.filter(
        pl.col("pool") == pool,
        pl.col("compute_ns") > pl.col("start_ns"),
        pl.col("start_ns") < end,
        pl.col("compute_ns") > start,
    )
    return {
        "from_ns": start,
        "to_ns": end,
        "cards_waiting": sorted(waited["card"].unique().to_list()),
        "cards_idle": sorted(part["card"].unique().to_list()),
        "stranded_ns": int(length.sum()),
        "cost_nano": _cost(books, part.with_columns(ns=length)),
    }


def _cost(books: Books, part: pl.DataFrame) -> int:
    """The episode's share of its stranded leaves' cost, by time within each leaf."""
    by = ["card", "bucket_ns"]
    leaves = books.leaves.filter(state="stranded")
    cost = leaves.join(books.money, on="leaf").group_by(by).agg(pl.col("nano").sum())
    whole = leaves.group_by(by).agg(pl.col("ns").sum().alias("of"))
    share = part.group_by(by).agg(pl.col("ns").sum()).join(cost, on=by).join(whole, on=by)
    product = pl.col("nano").cast(pl.Int128) * pl.col("ns") // pl.col("of")
    return int(share.select(product.cast(pl.Int64).sum()).item() or 0)
