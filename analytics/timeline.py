"""Attempts on the cards' time line: when each was there, when it computed, and at what.

`wait` ends where computing starts: as the engine told it, else by arrival order beyond the
engine's slots. An engine without a slot count has no queue that can be seen.
"""

from bisect import insort
from collections.abc import Mapping, Sequence
from typing import Final

import numpy as np
import polars as pl

from analytics.intervals import Ints
from analytics.prefixes import nothing_recalled, recalled
from collector.settings import EngineSettings

Slots = Mapping[str, Sequence[tuple[int, int]]]
PREFILL_ONLY: Final = ("embedding", "rerank")


def timeline(
    attempts: pl.DataFrame,
    engines: Mapping[str, EngineSettings],
    slots: Slots,
    before: pl.DataFrame | None = None,
) -> pl.DataFrame:
    """One row per attempt and card; an attempt on no known card has none.

    `engines` are the assignments in force; `slots` tells for each engine from when it had how
    many, in order of time; `before` are the attempts whose prefixes may have been computed again
    (`prefixes.recalled`).

    Columns beside the attempt's own (`tellings.joined`): `card`, `card_no` and `n_cards` (its
    place and their number), `pool`, and the instants `start_ns` ≤ `compute_ns` ≤ `split_ns` ≤
    `end_ns`, with `first_kind` before the split and `second_kind` after it. Of `fresh_tokens`,
    which no cache served, `recomputed_tokens` had been computed before (and what else
    `prefixes.recalled` tells); `is_keyed` where it told prefixes.
    """
    placed = _with_cards(attempts, engines)
    compute = _compute_starts(placed, slots)
    placed = placed.with_columns(pl.Series("compute_ns", compute, dtype=pl.Int64))
    split = pl.col("first_token_ns").clip(pl.col("compute_ns"), pl.col("end_ns"))
    nothing_new = pl.col("cache_read_tokens") >= pl.col("input_tokens")
    prefill_only = pl.col("operation").is_in(PREFILL_ONLY)
    placed = placed.with_columns(
        split_ns=pl.when(prefill_only | split.is_null()).then(pl.col("end_ns")).otherwise(split),
        first_kind=pl.when(prefill_only)
        .then(pl.lit("new"))
        .when(split.is_null() | nothing_new.fill_null(False))
        .then(pl.lit("unsplit"))
        .otherwise(pl.lit("new")),
        second_kind=pl.lit("output"),
        fresh_tokens=pl.col("input_tokens") - pl.col("cache_read_tokens"),
        is_keyed=pl.col("prefix").list.len() > 0,
        n_cards=pl.col("cards").list.len().cast(pl.Int64),
    )
    placed = placed.hstack(_again(placed, before, engines))
    numbered = placed.drop("prefix", "prefix_tokens", "route").with_columns(
        card_no=pl.int_ranges(pl.col("cards").list.len())
    )
    rows = numbered.explode("cards", "card_no").rename({"cards": "card"})
    return rows.drop_nulls("card")


def _again(
    placed: pl.DataFrame, before: pl.DataFrame | None, engines: Mapping[str, EngineSettings]
) -> pl.DataFrame:
    if before is None or before.is_empty():
        return nothing_recalled(placed)
    return recalled(placed, _with_cards(before, engines))


def _with_cards(attempts: pl.DataFrame, engines: Mapping[str, EngineSettings]) -> pl.DataFrame:
    """Add each attempt's cards and pool."""
    known = pl.DataFrame(
        [(name, list(engine.gpus), engine.pool_name) for name, engine in engines.items()],
        schema={"engine": pl.String, "assigned": pl.List(pl.String), "assigned_pool": pl.String},
        orient="row",
    )
    rows = attempts.join(known, on="engine", how="left", maintain_order="left")
    told = pl.col("gpus").list.len() > 0
    return rows.with_columns(
        cards=pl.when(told).then("gpus").otherwise("assigned"),
        pool=pl.coalesce("assigned_pool", "engine"),
    ).drop("gpus", "assigned", "assigned_pool")


def _compute_starts(rows: pl.DataFrame, slots: Slots) -> Ints:
    """When each attempt began to compute: never before its start, never after its end."""
    start, end = rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()
    compute: Ints = start.copy()
    for name, places in _places(rows).items():
        queued = _queue(start[places], end[places], slots.get(name, ()))
        compute[places] = queued
    told = rows["wait_ns"].is_not_null().to_numpy()
    waited = rows["wait_ns"].fill_null(0).to_numpy()
    compute[told] = start[told] + waited[told]
    compute[:] = np.minimum(compute, end)
    return compute


def _places(rows: pl.DataFrame) -> dict[str, Ints]:
    """Per engine, the row numbers in order of arrival."""
    ordered = rows.select("engine", "start_ns", "request", _place=pl.int_range(pl.len()))
    by_engine = ordered.sort("start_ns", "request").partition_by("engine", as_dict=True)
    return {name: part["_place"].to_numpy() for (name,), part in by_engine.items()}


def _queue(start: Ints, end: Ints, slots: Sequence[tuple[int, int]]) -> Ints:
    """A request computes once fewer than `slots` that arrived before it are still there.

    The slots are those told of last when it arrived; before any word there is no queue to see.
    """
    if not slots:
        return start
    told = np.array([0, *(number for _, number in slots)], dtype=np.int64)
    count = told[np.searchsorted([at for at, _ in slots], start, side="right")]
    most = max(number for _, number in slots)
    latest: list[int] = []  # the latest ends among those that arrived before, in order
    compute = start.copy()
    crowded = _crowded(start, end, count)
    for index, came, leaves, slot in zip(
        crowded.tolist(), *(part[crowded].tolist() for part in (start, end, count)), strict=True
    ):
        if 0 < slot <= len(latest) and latest[-slot] > came:
            compute[index] = latest[-slot]
        insort(latest, leaves)
        if len(latest) > most:
            del latest[0]
    return compute


def _crowded(start: Ints, end: Ints, slots: Ints) -> Ints:
    """Where a queue may be: all requests, in order of arrival, of those stretches without a pause
    in which any of them may have found as many there as its slots."""
    end = np.maximum(start, end)
    there = np.arange(len(start)) - np.searchsorted(np.sort(end), start, side="left")
    reached = np.maximum.accumulate(end)
    stretch = np.cumsum(np.concatenate(([0], start[1:] >= reached[:-1])))[: len(start)]
    is_crowded = np.zeros(len(start), dtype=bool)
    is_crowded[stretch[(there >= slots) & (slots > 0)]] = True
    return np.flatnonzero(is_crowded[stretch])
