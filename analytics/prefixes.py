"""What of an input had been computed before, where, and what became of it.

Prefix keys tell it, and only they do. An input holds a run of prefixes, each named by a key and as
long as it says. What the cache did not serve of a prefix that an engine of the same pool had
computed before was computed again. Where this engine was the last to compute it, it has lost it
(`evicted`); where another was, the request was sent past it (`misrouted`).

A conversation whose prompt leaves its own history in the middle, and goes on for more messages
than a new one begins with, has been rewritten. What its earlier prompt held from there on, nobody
can have cached.
"""

from typing import Final

import polars as pl

from collector.clock import SECOND_NS

# A prefix that nobody computed in so long a time before a request's end counts as new.
RECALL_NS: Final = 2 * 86_400 * SECOND_NS
# Tools, three blocks of system prompt and a first message: so many has one that begins anew.
BEGINNING: Final = 5
COLUMNS: Final = {
    "recomputed_tokens": pl.Int64,
    "evicted_tokens": pl.Int64,
    "rewritten_tokens": pl.Int64,
    "broke_at": pl.Int64,
}


def recalled(rows: pl.DataFrame, before: pl.DataFrame) -> pl.DataFrame:
    """Of each attempt (`COLUMNS`): tokens that were computed again, those of them that its own
    engine had lost, those that a rewritten history made new, and how many messages of the
    conversation still stood there (None where it was not rewritten). 0 where nothing is known.

    `rows` and `before` have `pool` beside the attempts' columns, `rows` also `request` and
    `compute_ns`. `before` holds every attempt with prefixes that ended within `RECALL_NS` before
    any of the rows did, themselves among them.
    """
    asked, computed = _asked(rows), _computed(before)
    again = _again(asked, computed)
    found = rows.select("request").join(again, on="request", how="left", maintain_order="left")
    found = found.join(
        _rewritten(rows, again, computed), on="request", how="left", maintain_order="left"
    )
    tokens = [name for name in COLUMNS if name != "broke_at"]
    return found.select(pl.col(tokens).fill_null(0), "broke_at")


def nothing_recalled(rows: pl.DataFrame) -> pl.DataFrame:
    """What `recalled` tells where no attempt has told a prefix."""
    zeros = {name: pl.lit(0, dtype=of) for name, of in COLUMNS.items() if name != "broke_at"}
    return rows.with_columns(**zeros, broke_at=pl.lit(None, dtype=pl.Int64)).select(*COLUMNS)


def _asked(rows: pl.DataFrame) -> pl.DataFrame:
    """Each prefix that reaches beyond what the cache served, with its number in the prompt and
    the instant before which it must have been computed."""
    # Where queue and first token disagree, an attempt must still not be its own forerunner.
    at = pl.min_horizontal("compute_ns", "first_token_ns")
    served = pl.col("cache_read_tokens")
    asked = rows.filter(pl.col("prefix").list.len() > 0, pl.col("input_tokens") > served).select(
        "request", "pool", "engine", "prefix", "prefix_tokens", "input_tokens",
        served.alias("served"),
        since_ns=pl.col("end_ns") - RECALL_NS,
        at_ns=at,
        message=pl.int_ranges(1, pl.col("prefix").list.len() + 1),
    )  # fmt: skip
    asked = asked.explode("prefix", "prefix_tokens", "message")
    return asked.filter(pl.col("prefix_tokens") > pl.col("served")).sort("at_ns")


def _computed(before: pl.DataFrame) -> pl.DataFrame:
    """When each attempt had computed its prefixes: at the first token, else at an end in good
    order."""
    ended = pl.when(pl.col("status") == "ok").then("end_ns")
    first = pl.min_horizontal("first_token_ns", "end_ns")
    at = pl.when(pl.col("first_token_ns").is_null()).then(ended).otherwise(first)
    told = before.select("pool", "engine", "session", "prefix", "prefix_tokens", at_ns=at)
    told = told.filter(pl.col("at_ns").is_not_null(), pl.col("prefix").list.len() > 0)
    return told.sort("at_ns")


def _again(asked: pl.DataFrame, computed: pl.DataFrame) -> pl.DataFrame:
    """Of each request recomputed_tokens, evicted_tokens and kept: how many of its messages the
    pool knew."""
    uses = computed.select("pool", "engine", "prefix", "at_ns").explode("prefix")
    met, uses = _coded(asked, uses)
    met = _latest(met, uses.select("at_ns", "any"), ["any"], "any")
    met = _latest(met, uses.select("at_ns", "own"), ["own"], "own")
    # A prefix is known as long as any longer one is.
    met = met.sort("request", "prefix_tokens", "message").with_columns(
        pl.col("any_ns", "own_ns").fill_null(0).cum_max(reverse=True).over("request"),
        held=pl.min_horizontal("prefix_tokens", "input_tokens"),
    )
    reached = pl.col("held").shift(1).over("request").fill_null(pl.col("served"))
    known = pl.col("any_ns") > 0
    lost = known & (pl.col("own_ns") == pl.col("any_ns"))
    met = met.with_columns(length=pl.col("held") - reached)
    return met.group_by("request").agg(
        pl.col("length").filter(known).sum().alias("recomputed_tokens"),
        pl.col("length").filter(lost).sum().alias("evicted_tokens"),
        pl.coalesce(pl.col("message").filter(known).max(), pl.col("message").min() - 1).alias(
            "kept"
        ),
    )


def _coded(asked: pl.DataFrame, uses: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Both with `any` and `own`: a prefix of a pool, and of an engine, which has but one pool.
    Numbers are quicker to look for than names; those of the two frames are the same."""
    names = ["pool", "engine", "prefix"]
    # Names are numbered together, as a number holds no longer than its column.
    both = pl.concat([asked.select(names), uses.select(names)])
    pool, engine, prefix = (
        pl.col(name).cast(pl.Categorical).to_physical().cast(pl.Int64) for name in names
    )
    codes = both.select(any=pool * 2**32 + prefix, own=engine * 2**32 + prefix)
    return asked.hstack(codes.head(len(asked))), uses.hstack(codes.slice(len(asked)))


def _rewritten(rows: pl.DataFrame, again: pl.DataFrame, computed: pl.DataFrame) -> pl.DataFrame:
    """Requests whose conversation was rewritten: rewritten_tokens and broke_at."""
    kept, messages = pl.col("kept"), pl.col("prefix").list
    asked = rows.join(again, on="request").filter(
        pl.col("session").is_not_null(), messages.len().cast(pl.Int64) - kept > BEGINNING
    )
    asked = asked.select(
        "request", "pool", "session", "input_tokens", "kept",
        since_ns=pl.col("end_ns") - RECALL_NS,
        at_ns=pl.min_horizontal("compute_ns", "first_token_ns"),
        tip=pl.when(kept > 0).then(messages.get(kept - 1, null_on_oob=True)),
        stood=pl.col("cache_read_tokens") + pl.col("recomputed_tokens"),
    ).sort("at_ns")  # fmt: skip
    earlier = computed.select(
        "pool", "session", "at_ns",
        tip=pl.col("prefix").list.last(),
        history=pl.col("prefix_tokens").list.max(),
    )  # fmt: skip
    found = _latest(asked, earlier.drop("tip").drop_nulls("session"), ["pool", "session"], "told")
    # A prompt that goes on from the end of an earlier one is another branch of it.
    found = _latest(found, earlier.select("pool", "tip", "at_ns"), ["pool", "tip"], "tip")
    found = found.filter(pl.col("told_ns").is_not_null(), pl.col("tip_ns").is_null())
    left = pl.min_horizontal("input_tokens", "history") - pl.col("stood")
    return found.filter(left > 0).select(
        "request", rewritten_tokens=left, broke_at=pl.col("kept").cast(pl.Int64)
    )


def _latest(asked: pl.DataFrame, told: pl.DataFrame, by: list[str], name: str) -> pl.DataFrame:
    """Add the latest row of `told` before at_ns, with its instant as `name`_ns; both are in order
    of at_ns. None where there is none since since_ns."""
    column = f"{name}_ns"
    found = asked.join_asof(
        told.with_columns(pl.col("at_ns").alias(column)),
        on="at_ns",
        by=by,
        allow_exact_matches=False,
        check_sortedness=False,
    )
    recent = pl.col(column) >= pl.col("since_ns")
    return found.with_columns(pl.when(recent).then(column).alias(column))
