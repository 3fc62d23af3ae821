"""An episode of herding, opened: who was on which card of the pool, and which cards stood by."""

from dataclasses import dataclass
from typing import Final

import polars as pl

from analytics.lanes import INSTANTS, on_lanes
from analytics.record import Record, keep_record
from analytics.requests import NAME
from analytics.rig import changes
from analytics.shelf import Shelf
from analytics.states import BUCKET_NS
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
    bounds = _bounds(shelf, window, to_ns)
    record = keep_record(shelf.ledger, shelf.settings, *bounds, shelf.now_ns)
    cards = _cards(record, pool)
    there = pl.col("card").is_in(cards)
    near = record.rows.filter(there, pl.col("end_ns") > window[0], pl.col("start_ns") < window[1])
    waited = (
        (pl.col("start_ns") < pl.col("compute_ns"))
        & (pl.col("start_ns") < to_ns)
        & (pl.col("compute_ns") > from_ns)
    )
    near = near.with_columns(is_it=waited).sort(~pl.col("is_it"), "start_ns", *NAME)
    bars = on_lanes(near.head(BARS)).select(
        "card", "lane", "is_it", *NAME, "model", "session", *INSTANTS, "first_kind"
    )
    stranded = record.states.filter(
        there, pl.col("start_ns") < to_ns, pl.col("end_ns") > from_ns, state="stranded"
    )
    left_out = max(0, len(near) - BARS)
    return Episode(cards, window, (from_ns, to_ns), bars, left_out, _whole(stranded))


def _bounds(shelf: Shelf, window: tuple[int, int], to_ns: int) -> tuple[int, int]:
    """The quarters of an hour that hold a window, up to where an engine changes its cards."""
    low, high = window[0] // BUCKET_NS * BUCKET_NS, -(-window[1] // BUCKET_NS) * BUCKET_NS
    cuts = [cut for cut in changes(shelf.settings) if low < cut < high]
    before, after = [c for c in cuts if c < to_ns], [c for c in cuts if c >= to_ns]
    return max([low, *before]), min([high, *after])


def _whole(stranded: pl.DataFrame) -> pl.DataFrame:
    """Segments that meet, as they do at each quarter of an hour, as one."""
    stranded = stranded.sort("card", "start_ns")
    apart = pl.col("start_ns") != pl.col("end_ns").shift(1).over("card")
    run = apart.fill_null(True).cum_sum().over("card")
    whole = stranded.with_columns(run=run).group_by("card", "run", maintain_order=True)
    return whole.agg(pl.col("start_ns").min(), pl.col("end_ns").max()).drop("run")


def _cards(record: Record, pool: str) -> list[str]:
    return list(dict.fromkeys(c.uuid for c in record.cards if "+".join(c.pools) == pool))
