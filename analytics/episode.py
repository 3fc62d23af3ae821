"""An episode of herding, opened: who was on which card of the pool, and which cards stood by."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from analytics.books import Books, keep_books
from analytics.lanes import INSTANTS, on_lanes
from analytics.requests import NAME
from analytics.shelf import Shelf
from collector.clock import SECOND_NS

PAD_NS: Final = 5 * SECOND_NS
BARS: Final = 400


@dataclass(frozen=True)
class Episode:
    """cards: those of the pool, in the order of the rig. window: the [from, to) shown, ns; span:
    the episode itself.

    bars: requests on these cards (card, lane, is_it: waited in the episode, source, event_id,
    model, session, `INSTANTS`, first_kind); left_out: how many more there are. stood_by: when
    which card was stranded (card, start_ns, end_ns).
    """

    cards: list[str]
    window: tuple[int, int]
    span: tuple[int, int]
    bars: pl.DataFrame
    left_out: int
    stood_by: pl.DataFrame


def episode(shelf: Shelf, pool: str, from_ns: int, to_ns: int) -> Episode:
    """What happened on the cards of a pool (as `herding` names it) around a span."""
    pad = max(PAD_NS, (to_ns - from_ns) // 10)
    window = from_ns - pad, min(to_ns + pad, shelf.now_ns)
    books = keep_books(shelf.ledger, shelf.settings, *window, shelf.now_ns)
    cards = _cards(books, pool)
    there = pl.col("card").is_in(cards)
    near = books.rows.filter(there, pl.col("end_ns") > window[0], pl.col("start_ns") < window[1])
    waited = (
        (pl.col("start_ns") < pl.col("compute_ns"))
        & (pl.col("start_ns") < to_ns)
        & (pl.col("compute_ns") > from_ns)
    )
    near = near.with_columns(is_it=waited).sort(~pl.col("is_it"), "start_ns", *NAME)
    bars = on_lanes(near.head(BARS)).select(
        "card", "lane", "is_it", *NAME, "model", "session", *INSTANTS, "first_kind"
    )
    stood_by = books.states.filter(
        there, pl.col("start_ns") < to_ns, pl.col("end_ns") > from_ns, state="stranded"
    )
    stood_by = stood_by.sort("card", "start_ns").select("card", "start_ns", "end_ns")
    left_out = max(0, len(near) - BARS)
    return Episode(cards, window, (from_ns, to_ns), bars, left_out, stood_by)


def _cards(books: Books, pool: str) -> list[str]:
    return list(dict.fromkeys(c.uuid for c in books.cards if "+".join(c.pools) == pool))
