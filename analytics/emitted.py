"""When output tokens came: spread evenly over each request's decode time, in whole tokens.

A request counts where it ends; its tokens stand in the hours in which they were put out, so that
no rate jumps at a bound. Who told none put out an unknown number in these hours, not none.
"""

import polars as pl

from analytics.rig import Card, in_service
from analytics.rollup import known_sum
from analytics.states import BUCKET_NS


def emitted(rows: pl.DataFrame, cards: list[Card]) -> pl.DataFrame:
    """Tokens put out on the rig's cards in service (card, bucket_ns, emitted_tokens, untold; in
    this order), from `timeline` rows.

    `untold` are the attempts that decoded there and told no tokens; emitted_tokens are those of
    the others, None where there was no other.

    Decode runs from the first token, or from the start of computing where none was seen, to the
    end; one without length counts in the bucket in which it ends. Each of n cards of a split model
    puts out 1/n, the tokens left over going to the first of them. What came up to an instant is
    floored, and a bucket has the difference: they add up to the request's tokens.
    """
    seen = pl.col("split_ns") < pl.col("end_ns")
    whole = rows.select(
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
    tokens = pl.col("tokens")
    found = pieces.group_by("card", "bucket_ns").agg(
        known_sum(tokens).alias("emitted_tokens"),
        tokens.null_count().cast(pl.Int64).alias("untold"),
    )
    found = found.join(in_service(cards), on="card").filter(
        pl.col("bucket_ns") >= pl.col("begin"), pl.col("bucket_ns") < pl.col("end")
    )
    return found.select("card", "bucket_ns", *EMITTED).sort("card", "bucket_ns")


EMITTED = ("emitted_tokens", "untold")


def put_out() -> pl.Expr:
    """The tokens that rows with `EMITTED` put out together: None where attempts decoded there and
    none of them told any, 0 where there was no attempt."""
    tokens = pl.col("emitted_tokens")
    return pl.when((tokens.count() > 0) | (pl.col("untold").sum() == 0)).then(tokens.sum())


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
