"""When output tokens came: spread evenly over each request's decode time, in whole tokens.

A request counts where it ends; its tokens stand in the hours in which they were put out, so that
no rate jumps at a bound.
"""

import polars as pl

from analytics.rig import Card, in_service
from analytics.states import BUCKET_NS


def emitted(rows: pl.DataFrame, cards: list[Card]) -> pl.DataFrame:
    """Tokens put out on the rig's cards in service (card, bucket_ns, emitted_tokens; in this
    order), from `timeline` rows.

    Decode runs from the first token, or from the start of computing where none was seen, to the
    end; one without length counts in the bucket in which it ends. Each of n cards of a split model
    puts out 1/n, the tokens left over going to the first of them. What came up to an instant is
    floored, and a bucket has the difference: they add up to the request's tokens.
    """
    seen = pl.col("split_ns") < pl.col("end_ns")
    whole = rows.filter(pl.col("output_tokens") > 0).select(
        "card",
        "end_ns",
        first=pl.when(seen).then("split_ns").otherwise("compute_ns"),
        tokens=_own_share(),
    )
    end = pl.col("end_ns")
    last = pl.when(end > pl.col("first")).then(end - 1).otherwise(end) // BUCKET_NS
    whole = whole.with_columns(low=pl.col("first") // BUCKET_NS, high=last)
    across = pl.col("high") > pl.col("low")
    inside = whole.filter(~across).select(*_KEPT, bucket_ns=pl.col("high") * BUCKET_NS)
    pieces = pl.concat([inside, _cut(whole.filter(across))])
    found = pieces.group_by("card", "bucket_ns").agg(pl.col("tokens").sum())
    found = found.join(in_service(cards), on="card").filter(
        pl.col("bucket_ns") >= pl.col("begin"), pl.col("bucket_ns") < pl.col("end")
    )
    found = found.select("card", "bucket_ns", pl.col("tokens").alias("emitted_tokens"))
    return found.sort("card", "bucket_ns")


_KEPT = ("card", "tokens")


def _own_share() -> pl.Expr:
    """A card's part of a request's tokens."""
    tokens, n = pl.col("output_tokens"), pl.col("n_cards")
    return tokens // n + (pl.col("card_no") < tokens % n).cast(pl.Int64)


def _cut(rows: pl.DataFrame) -> pl.DataFrame:
    """Those that decode across a bound of buckets, cut there."""
    buckets = pl.int_ranges("low", pl.col("high") + 1)
    cut = rows.with_columns(bucket_ns=buckets).explode("bucket_ns")
    cut = cut.with_columns(bucket_ns=pl.col("bucket_ns") * BUCKET_NS)
    length = (pl.col("end_ns") - pl.col("first")).cast(pl.Int128)

    def upto(at: pl.Expr) -> pl.Expr:
        since = at.clip(pl.col("first"), pl.col("end_ns")) - pl.col("first")
        return (pl.col("tokens").cast(pl.Int128) * since // length).cast(pl.Int64)

    came = upto(pl.col("bucket_ns") + BUCKET_NS) - upto(pl.col("bucket_ns"))
    return cut.with_columns(tokens=came).select(*_KEPT, "bucket_ns")
