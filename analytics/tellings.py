"""One attempt, told by several sources: which tellings are of the same one, and what counts.

A tap, a router, an engine's log, a plugin and a trace may all tell of the same attempt. Their
tellings meet by request id, else by response id. An id alone is not trusted, as clients use one
twice and engines count theirs anew: of the attempts that bear it a telling belongs to the one that
ended nearest to it, if both overlap and a source tells of it once. So the telling of a client that
knows nothing of a second try goes with the try that answered.
"""

from typing import Final

import polars as pl

from collector.clock import SECOND_NS

# Further apart two tellings do not end; so whoever reads this far beyond a span has both of each.
NEARBY_NS: Final = 300 * SECOND_NS
IDS: Final = ("shared_request", "shared_response")
# How far a source stands from the engine, by the first of these that its name holds: a spend log
# of LiteLLM is no engine's log.
NEAREST: Final = {"tap": 0, "router": 1, "litellm": 3, "_log": 2, "otlp": 4}
USAGE: Final = ("engine", "derived", "estimated", "missing")
TIMES: Final = ("received_at_ns", "start_ns", "end_ns")
LISTS: Final = ("gpus", "prefix", "prefix_tokens")
FILLED: Final = (
    "request_id", "model", "project", "session", "key", "wait_ns", "route", "_ttft", *LISTS,
)  # fmt: skip
TOKENS: Final = (
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
)  # fmt: skip


def joined(tellings: pl.DataFrame) -> pl.DataFrame:
    """One row per attempt, from rows of the query `attempts`; without the shared ids, and numbered
    in the order of their names (`request`).

    An attempt bears the name (source, event_id) and the times of its nearest telling: a tap's, a
    router's, an engine log's, a plugin's, a trace's, any other's. What that one does not know is
    taken from the next that does, but token counts first from those that an engine reported, then
    from derived ones, then from estimates. `cached_is_estimated` where it is the count of cached
    tokens that was; None where nobody told one.
    """
    cached = pl.col("cache_read_tokens").is_not_null()
    estimate = pl.when(cached).then(pl.col("usage_source") == "estimated")
    tellings = tellings.with_columns(cached_is_estimated=estimate)
    shared = tellings.filter(pl.any_horizontal(pl.col(IDS).is_not_null()))
    if shared.is_empty():
        return _numbered(tellings.drop(IDS))
    alone = tellings.filter(pl.all_horizontal(pl.col(IDS).is_null())).drop(IDS)
    shared = shared.sort(_rank(), "source", "event_id").with_row_index("place")
    attempts = _merged(_attributed(shared)).select(alone.columns)
    return _numbered(pl.concat([alone, attempts]))


def _numbered(attempts: pl.DataFrame) -> pl.DataFrame:
    # Most names come in their order, which this sort makes use of and the query's would not.
    named = attempts.sort("source", "event_id")
    return named.with_columns(request=pl.int_range(pl.len()))


def _rank() -> pl.Expr:
    """How far a source stands from the engine."""
    rank = pl.lit(len(NEAREST))
    for name, place in reversed(NEAREST.items()):
        bears = pl.col("source").str.contains(name, literal=True)
        rank = pl.when(bears).then(place).otherwise(rank)
    return rank


def _attributed(shared: pl.DataFrame) -> pl.DataFrame:
    """Add `one`, the place of the nearest telling of the same attempt: source by source, as each
    tells of an attempt at most once."""
    known = shared.clear().with_columns(one=pl.col("place"))
    for own in shared.partition_by("source", maintain_order=True):
        met = own.clear().select("place", one="place")
        for by in IDS:
            rest = own.join(met, on="place", how="anti")
            met = pl.concat([met, _met(rest, known, by)])
            met = met.unique("one", keep="first", maintain_order=True)
        told = own.join(met, on="place", how="left", maintain_order="left")
        known = pl.concat([known, told.with_columns(one=pl.coalesce("one", "place"))])
    return known


def _met(own: pl.DataFrame, known: pl.DataFrame, by: str) -> pl.DataFrame:
    """Which tellings of a source (place) meet which attempt (one) by an id; each attempt once."""
    candidates = known.drop_nulls(by).select(
        by, "one", ended="end_ns", began="received_at_ns", at="end_ns"
    )
    candidates = candidates.sort("at", "one").unique([by, "at"], keep="first", maintain_order=True)
    asking = own.drop_nulls(by).select(by, "place", "received_at_ns", "end_ns", at="end_ns")
    asking = asking.sort("at", "place")
    found = [
        asking.join_asof(
            candidates, on="at", by=by, strategy=way, tolerance=NEARBY_NS, check_sortedness=False
        )
        for way in ("forward", "backward")
    ]
    apart = (pl.col("ended") - pl.col("end_ns")).abs()
    overlap = pl.col("began") <= pl.col("end_ns"), pl.col("received_at_ns") <= pl.col("ended")
    order = ["apart", "way", "place"]
    met = pl.concat([f.with_columns(way=pl.lit(way), apart=apart) for way, f in enumerate(found)])
    met = met.drop_nulls("one").sort(order).unique("place", keep="first", maintain_order=True)
    met = met.filter(overlap).unique("one", keep="first", maintain_order=True)
    return met.select("place", "one")


def _merged(tellings: pl.DataFrame) -> pl.DataFrame:
    """The tellings of each attempt as one row."""
    usage = pl.col("usage_source").replace_strict({name: rank for rank, name in enumerate(USAGE)})
    ranked = tellings.sort("one", "place").with_columns(
        *(pl.when(pl.col(name).list.len() > 0).then(name).alias(name) for name in LISTS),
        _usage=usage,
        _ttft=pl.col("first_token_ns") - pl.col("received_at_ns"),
    )
    best_usage = ["_usage", "place"]
    merged = ranked.group_by("one", maintain_order=True).agg(
        pl.col("source", "event_id", *TIMES, "engine", "operation", "status").first(),
        pl.col("first_token_ns").first(),
        pl.col(FILLED).drop_nulls().first(),
        pl.col(*TOKENS, "cached_is_estimated").sort_by(best_usage).drop_nulls().first(),
        pl.col("usage_source").sort_by(pl.col("output_tokens").is_null(), *best_usage).first(),
        pl.col("is_request").any(),
    )
    # Told elsewhere, by another clock: it came before the end.
    filled = pl.min_horizontal(pl.col("received_at_ns") + pl.col("_ttft"), "end_ns")
    elsewhere = pl.col("first_token_ns").is_null() & pl.col("_ttft").is_not_null()
    return merged.with_columns(
        pl.col(LISTS).fill_null([]),
        first_token_ns=pl.when(elsewhere).then(filled).otherwise("first_token_ns"),
    )
