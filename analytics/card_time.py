"""Sharing a card's time: while k requests compute, each takes 1/k of the moment.

Shares are summed in units of 2⁻²⁰ ns, floored at every change of k, and rounded to whole ns once
per card and bucket by largest remainder, so that they add up to the computing time exactly.
"""

import numpy as np
import polars as pl

from analytics.allocate import top_up
from analytics.intervals import Ints, distinct
from analytics.states import BUCKET_NS

SCALE_BITS = 20
SCHEMA = {
    "card": pl.String,
    "bucket_ns": pl.Int64,
    "request": pl.Int64,
    "kind": pl.String,
    "ns": pl.Int64,
}


def card_time(rows: pl.DataFrame) -> pl.DataFrame:
    """Card time of each request by card, bucket and kind, from `timeline` rows.

    Columns: card, bucket_ns, request, kind (new, recomputed, output, unsplit), ns. Per card and
    bucket Σ ns is the time in which at least one request computed.
    """
    parts = [_shares(str(key[0]), part) for key, part in rows.group_by("card")]
    shares = pl.concat([pl.DataFrame(schema=_RAW), *parts])
    shares = _told_apart(shares, rows).with_columns(
        _floor=pl.col("scaled") // 2**SCALE_BITS, _rest=pl.col("scaled") % 2**SCALE_BITS
    )
    ns = top_up(shares, amount="computing", by=["card", "bucket_ns"], order=["request", "kind"])
    return shares.with_columns(ns=ns).select(*SCHEMA)


_RAW = {
    "card": pl.String,
    "bucket_ns": pl.Int64,
    "request": pl.Int64,
    "kind": pl.String,
    "scaled": pl.Int64,
    "computing": pl.Int64,
}


def _shares(card: str, rows: pl.DataFrame) -> pl.DataFrame:
    """Unrounded shares on one card, cut at the buckets."""
    rows = rows.filter(pl.col("end_ns") > pl.col("compute_ns"))
    compute, split, end = (rows[c].to_numpy() for c in ("compute_ns", "split_ns", "end_ns"))
    piece, starts, ends = _cut(np.concatenate((compute, split)), np.concatenate((split, end)))
    edges, virtual, computing = _virtual_time(compute, end, starts, ends)
    buckets = starts // BUCKET_NS * BUCKET_NS
    scaled = virtual[np.searchsorted(edges, ends)] - virtual[np.searchsorted(edges, starts)]
    both = pl.concat([rows["request"], rows["request"]])
    kinds = pl.concat([rows["first_kind"], rows["second_kind"]])
    shares = pl.DataFrame(
        {"bucket_ns": buckets, "request": both[piece], "kind": kinds[piece], "scaled": scaled}
    )
    shares = shares.group_by("bucket_ns", "request", "kind").agg(pl.col("scaled").sum())
    shares = shares.join(computing, on="bucket_ns", how="left")
    return shares.with_columns(card=pl.lit(card)).select(*_RAW)


def _told_apart(shares: pl.DataFrame, rows: pl.DataFrame) -> pl.DataFrame:
    """What prefill computed again, by tokens, as a kind of its own."""
    partly = rows.filter(pl.col("recomputed_tokens") > 0, pl.col("first_kind") == "new")
    if partly.is_empty():
        return shares
    tokens = ["recomputed_tokens", "fresh_tokens"]
    partly = partly.select("card", "request", *tokens, kind="first_kind")
    shares = shares.join(partly, on=["card", "request", "kind"], how="left")
    product = pl.col("scaled").cast(pl.Int128) * pl.col("recomputed_tokens")
    part = (product // pl.col("fresh_tokens")).cast(pl.Int64).fill_null(0)
    shares = shares.with_columns(part=part)
    again = shares.with_columns(kind=pl.lit("recomputed"), scaled=pl.col("part"))
    rest = shares.with_columns(scaled=pl.col("scaled") - pl.col("part"))
    return pl.concat([rest, again]).filter(pl.col("scaled") > 0).select(*_RAW)


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
