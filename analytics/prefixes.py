"""What was computed again: the part of an input that some card of the pool had computed before.

Prefix keys tell it, and only they do. An input holds a run of prefixes, each named by a key and as
long as it says; the longest one that an attempt of the same pool had computed before is known, and
what the cache did not serve of it was computed again.
"""

from typing import Final

import polars as pl

from collector.clock import SECOND_NS

# A prefix that nobody computed in so long a time before a request's end counts as new.
RECALL_NS: Final = 2 * 86_400 * SECOND_NS


def recomputed(rows: pl.DataFrame, before: pl.DataFrame) -> pl.Series:
    """Tokens that each attempt computed again; 0 where that is not known.

    `rows` and `before` have `pool` beside the attempts' columns, `rows` also `request` and
    `compute_ns`. `before` holds every attempt with prefixes that ended within `RECALL_NS` before
    any of the rows did, themselves among them.
    """
    met = _asked(rows).join_asof(
        _computed(before),
        on="at_ns",
        by=["pool", "prefix"],
        allow_exact_matches=False,
        check_sortedness=False,
    )
    recent = pl.col("done_ns") >= pl.col("end_ns") - RECALL_NS
    known = met.filter(recent).group_by("request").agg(pl.col("prefix_tokens").max())
    found = rows.select("request", "input_tokens", "cache_read_tokens").join(
        known, on="request", how="left", maintain_order="left"
    )
    held = pl.min_horizontal("prefix_tokens", "input_tokens")
    told = pl.all_horizontal(pl.col(found.columns).is_not_null())
    again = (held - pl.col("cache_read_tokens")).clip(lower_bound=0)
    return found.select(again=pl.when(told).then(again).otherwise(0))["again"]


def _asked(rows: pl.DataFrame) -> pl.DataFrame:
    """Each prefix of each row, with the instant before which it must have been computed."""
    # Where queue and first token disagree, an attempt must still not be its own forerunner.
    at = pl.min_horizontal("compute_ns", "first_token_ns")
    asked = rows.select("request", "pool", "prefix", "prefix_tokens", "end_ns", at_ns=at)
    asked = asked.filter(pl.col("prefix").list.len() > 0)
    return asked.explode("prefix", "prefix_tokens").sort("at_ns")


def _computed(before: pl.DataFrame) -> pl.DataFrame:
    """When each prefix had been computed: at the first token, else at an end in good order."""
    ended = pl.when(pl.col("status") == "ok").then("end_ns")
    first = pl.min_horizontal("first_token_ns", "end_ns")
    at = pl.when(pl.col("first_token_ns").is_null()).then(ended).otherwise(first)
    told = before.select("pool", "prefix", at_ns=at, done_ns=at)
    told = told.filter(pl.col("at_ns").is_not_null(), pl.col("prefix").list.len() > 0)
    return told.explode("prefix").unique().sort("at_ns")
