"""Sharing a card's time: while k requests compute, each takes 1/k of the moment.

Shares are summed in units of 2⁻²⁰ ns, floored at every change of k, and rounded to whole ns once
per card and bucket by largest remainder, so that they add up to the computing time exactly.
"""

from concurrent.futures import ThreadPoolExecutor

import numpy as np
import polars as pl

from analytics.allocate import added, divided, ordering, top_up
from analytics.intervals import Ints, distinct
from analytics.states import BUCKET_NS

SCALE_BITS = 20
KIND = pl.Enum(["new", "output", "recomputed", "unsplit"])  # in the order of ties
SCHEMA: dict[str, pl.DataType] = {
    "card": pl.String(),
    "bucket_ns": pl.Int64(),
    "request": pl.Int64(),
    "kind": KIND,
    "ns": pl.Int64(),
}


READ = [
    "card", "request", "compute_ns", "split_ns", "end_ns", "first_kind", "second_kind",
    "recomputed_tokens", "fresh_tokens",
]  # fmt: skip


def card_time(rows: pl.DataFrame) -> pl.DataFrame:
    """Card time of each request by card, bucket and kind, from `timeline` rows.

    Columns: card, bucket_ns, request, kind (`KIND`), ns, in the order of the first four. Per card
    and bucket Σ ns is the time in which at least one request computed.
    """
    rows = rows.select(READ).filter(pl.col("end_ns") > pl.col("compute_ns"))
    by_card = sorted(rows.partition_by("card", as_dict=True).items())
    with ThreadPoolExecutor() as pool:  # sums and searches in arrays hold nobody up
        parts = list(pool.map(lambda each: _shares(str(each[0][0]), each[1]), by_card))
    return pl.concat([pl.DataFrame(schema=SCHEMA), *parts])


def _shares(card: str, rows: pl.DataFrame) -> pl.DataFrame:
    """The shares on one card, cut at the buckets."""
    compute, split, end = (rows[c].to_numpy() for c in ("compute_ns", "split_ns", "end_ns"))
    piece, starts, ends = _cut(np.concatenate((compute, split)), np.concatenate((split, end)))
    edges, virtual, computing = _virtual_time(compute, end, starts, ends)
    kinds = pl.concat([rows["first_kind"], rows["second_kind"]]).cast(KIND)
    pieces = rows.select("request", "recomputed_tokens", "fresh_tokens")[piece % len(rows)]
    pieces = pieces.with_columns(
        bucket_ns=pl.Series(starts // BUCKET_NS * BUCKET_NS),
        kind=kinds[piece],
        scaled=virtual[np.searchsorted(edges, ends)] - virtual[np.searchsorted(edges, starts)],
    )
    shares = _summed(_told_apart(pieces)).join(
        computing, on="bucket_ns", how="left", maintain_order="left"
    )
    shares = shares.with_columns(
        card=pl.lit(card),
        _floor=pl.col("scaled") // 2**SCALE_BITS,
        _rest=pl.col("scaled") % 2**SCALE_BITS,
    )
    ns = top_up(shares, amount="computing", by=["bucket_ns"], order=["request", "kind"])
    return shares.with_columns(ns=ns).select(*SCHEMA)


def _told_apart(pieces: pl.DataFrame) -> pl.DataFrame:
    """What prefill computed again, by tokens, as a kind of its own."""
    partly = (pl.col("kind") == "new") & (pl.col("recomputed_tokens") > 0)
    found = pieces.filter(partly)
    names = ("scaled", "recomputed_tokens", "fresh_tokens")
    part = pl.Series(divided(*(found[name].to_numpy() for name in names))[0])
    again = found.with_columns(kind=pl.lit("recomputed", dtype=KIND), scaled=part)
    rest = found.with_columns(scaled=pl.col("scaled") - part)
    return pl.concat([pieces.filter(~partly), rest, again])


def _summed(pieces: pl.DataFrame) -> pl.DataFrame:
    """The pieces of each bucket, request and kind as one, in their order."""
    place = ordering(pieces, ["bucket_ns", "request", "kind"])
    _, first, which = np.unique(place, return_index=True, return_inverse=True)
    scaled = added(pieces["scaled"].to_numpy(), which, len(first))
    return pieces[first].with_columns(scaled=pl.Series(scaled))


def _cut(starts: Ints, ends: Ints) -> tuple[Ints, Ints, Ints]:
    """Cut intervals at the bucket bounds; empty ones vanish. Returns (piece, starts, ends)."""
    pieces = np.flatnonzero(ends > starts)
    starts, ends = starts[pieces], ends[pieces]
    first, last = starts // BUCKET_NS, (ends - 1) // BUCKET_NS
    counts = last - first + 1
    which = np.repeat(np.arange(len(pieces)), counts)
    nth = np.arange(len(which)) - np.repeat(np.cumsum(counts) - counts, counts)
    bucket = (first[which] + nth) * BUCKET_NS
    return (
        pieces[which],
        np.maximum(starts[which], bucket),
        np.minimum(ends[which], bucket + BUCKET_NS),
    )


def _virtual_time(
    compute: Ints, end: Ints, starts: Ints, ends: Ints
) -> tuple[Ints, Ints, pl.DataFrame]:
    """The time of one request among k, accumulated over the edges, and computing ns per bucket.

    The running sum may wrap around int64; differences within a bucket stay exact (below 2⁶⁰).
    """
    edges = distinct(np.concatenate((starts, ends)))
    came, went = (
        np.bincount(np.searchsorted(edges, at), minlength=len(edges)) for at in (compute, end)
    )
    together = np.cumsum(came - went)[:-1]
    length = np.where(together > 0, np.diff(edges), 0)
    step = (length << SCALE_BITS) // np.maximum(together, 1)
    virtual = np.concatenate(([0], np.cumsum(step)))
    spans = pl.DataFrame({"bucket_ns": edges[:-1] // BUCKET_NS * BUCKET_NS, "computing": length})
    return edges, virtual, spans.group_by("bucket_ns").agg(pl.col("computing").sum())
