"""A day's requests, one by one and added up by their labels.

The frames by request stay on disk for whoever looks closer; reports and pages add up the rollups,
whose size goes with the labels in use and not with the requests.
"""

from collections.abc import Sequence

import numpy as np
import polars as pl

from analytics.allocate import added, codes
from analytics.intervals import Ints
from analytics.marginal import MARGINAL
from analytics.prefixes import COLUMNS as RECALLED
from analytics.record import Record
from analytics.rig import Card, in_service
from analytics.states import BUCKET_NS
from analytics.timeline import PREFILL_ONLY

KINDS = ("new", "recomputed", "output", "unsplit")
LABELS = ("model", "project", "session", "key")
WORK = [f"{kind}_{figure}" for kind in KINDS for figure in ("ns", "nano")]
CATEGORIES = ("capital", "energy", "other")
SPENT = [f"{category}_nano" for category in CATEGORIES]
NAMED = [
    "request", "source", "event_id", *LABELS, "operation", "is_keyed", "fresh_tokens",
    "recomputed_tokens", "evicted_tokens", "rewritten_tokens",
]  # fmt: skip
ENDED = [
    "source", "event_id", "request_id", *LABELS, "engine", "operation", "status", "usage_source",
    "received_ns", "end_ns",
    "input_tokens", "cache_read_tokens", "cache_write_tokens", "output_tokens", "reasoning_tokens",
    "prefix", "prefix_tokens", *RECALLED, "route",
    "card", "is_request", "is_carded", "is_odd", "is_split", "cached_is_estimated",
]  # fmt: skip


def pools(cards: Sequence[Card]) -> pl.DataFrame:
    """The pools that each card serves, as one name; a card without an engine is its own."""
    return pl.DataFrame(
        [(card.uuid, "+".join(card.pools) or card.uuid) for card in cards],
        schema={"card": pl.String, "pool": pl.String},
        orient="row",
    )


def priced(leaves: pl.DataFrame, money: pl.DataFrame) -> pl.DataFrame:
    """The leaves with what they cost (`account.Money`), by category (`SPENT`) and in all (nano)."""
    costs = [
        pl.Series(f"{name}_nano", _by_leaf(money.filter(category=name), len(leaves)))
        for name in CATEGORIES
    ]
    return leaves.with_columns(costs).with_columns(nano=pl.sum_horizontal(SPENT))


def _by_leaf(lines: pl.DataFrame, leaves: int) -> Ints:
    """The money of some lines, leaf by leaf."""
    return added(lines["nano"].to_numpy(), lines["leaf"].to_numpy(), leaves)


def by_kind(found: pl.DataFrame, by: list[str], beside: Sequence[str] = ()) -> pl.DataFrame:
    """Time and money of the requests' leaves by kind side by side (`WORK`), and sums `beside`; in
    the order of `by`."""
    _, first, place = np.unique(codes(found, by)[0], return_index=True, return_inverse=True)
    sums = {name: added(found[name].to_numpy(), place, len(first)) for name in beside}
    for kind in KINDS:
        own = np.flatnonzero(found["kind"] == kind)
        for figure in ("ns", "nano"):
            amounts = found[figure].to_numpy()[own]
            sums[f"{kind}_{figure}"] = added(amounts, place[own], len(first))
    return found.select(by)[first].with_columns(pl.Series(n, sums[n]) for n in (*WORK, *beside))


def requests(rows: pl.DataFrame) -> pl.DataFrame:
    """The attempts of `timeline` rows by number, with their names and what `misses` asks of them
    (`NAMED`)."""
    return rows.filter(pl.col("card_no") == 0).select(NAMED)


def costs(found: pl.DataFrame, requests: pl.DataFrame, cards: Sequence[Card]) -> pl.DataFrame:
    """One row per request and card of the requests' leaves: names, pool, `WORK`, `SPENT` and
    `MARGINAL`."""
    names = requests.select("request", "source", "event_id", *LABELS, "operation")
    # Requests are numbered in the order of their names.
    wide = by_kind(found, ["request", "card"], [*SPENT, *MARGINAL])
    wide = wide.join(names, on="request", how="left", maintain_order="left")
    wide = wide.join(pools(cards), on="card", how="left", maintain_order="left")
    return wide.drop("request")


def work(costs: pl.DataFrame) -> pl.DataFrame:
    """`WORK`, `SPENT` and `MARGINAL` by the finest combination of pool, card, labels, operation."""
    by = ["pool", "card", *LABELS, "operation"]
    return costs.group_by(by).agg(pl.col(*WORK, *SPENT, *MARGINAL).sum()).sort(by)


def ended(record: Record) -> pl.DataFrame:
    """The attempts as the ledger tells them (`ENDED`), with the first card of the rig that each
    ran on while it was in service, and whether there is any (`is_carded`), whether it is impossible
    (`is_odd`) and split into kinds (`is_split`)."""
    served = pl.col("end_ns") > pl.col("begin"), pl.col("start_ns") < pl.col("end")
    in_use = in_service(record.cards)
    placed = record.rows.select("request", "card", "start_ns", "end_ns", *RECALLED)
    carded = placed.join(in_use, on="card", maintain_order="left").filter(served)
    first = carded.unique("request", keep="first", maintain_order=True)
    carded = first.select("request", "card", *RECALLED)
    since = pl.col("start_ns") - pl.col("received_at_ns")
    odd = (
        (pl.col("cache_read_tokens") > pl.col("input_tokens"))
        | (pl.col("cache_write_tokens") > pl.col("input_tokens"))
        | (pl.col("reasoning_tokens") > pl.col("output_tokens"))
        | (pl.col("first_token_ns") > pl.col("end_ns"))
        | (pl.col("first_token_ns") < pl.col("start_ns"))
        | (pl.col("start_ns") + pl.col("wait_ns") > pl.col("end_ns"))
        | (since > pl.col("end_ns") - pl.col("received_at_ns"))
    )
    told = record.attempts.join(carded, on="request", how="left", maintain_order="left")
    return told.with_columns(
        pl.col("recomputed_tokens", "evicted_tokens", "rewritten_tokens").fill_null(0),
        is_carded=pl.col("card").is_not_null(),
        received_ns=pl.col("received_at_ns"),
        is_odd=odd.fill_null(False),
        is_split=pl.col("first_token_ns").is_not_null() | pl.col("operation").is_in(PREFILL_ONLY),
    ).select(ENDED)


def tallies(ended: pl.DataFrame) -> pl.DataFrame:
    """Counts and sums of attempts by the finest combination of labels and operation.

    Token sums are of what is known, and None where nothing is. `split_new` and `split_recomputed`
    are the uncached input, `split_output` the output, of the attempts whose time could be split
    into kinds; `missing_split_…` counts those of them that did not tell it. `requests` leaves
    earlier tries of the same request out; their tokens count.
    """
    by = [*LABELS, "operation"]
    given, cached, again, put_out = (
        pl.col(f"{name}_tokens") for name in ("input", "cache_read", "recomputed", "output")
    )
    split = pl.col("is_split")
    source = pl.col("usage_source")
    counts = {
        "attempts": pl.lit(True),
        "requests": pl.col("is_request"),
        "missing_usage": given.is_null() | put_out.is_null(),
        "missing_input": given.is_null(),
        "missing_output": put_out.is_null(),
        "missing_split_input": split & (given - cached).is_null(),
        "missing_split_output": split & put_out.is_null(),
        "missing_cached": cached.is_null(),
        "derived_usage": source == "derived",
        "estimated_usage": source == "estimated",
        "odd": pl.col("is_odd"),
        "uncarded": ~pl.col("is_carded"),
    }
    flagged = ended.with_columns(flag.cast(pl.Int64).alias(name) for name, flag in counts.items())
    sums = flagged.group_by(by).agg(
        pl.col(list(counts)).sum(),
        *(
            known_sum(pl.col(tokens))
            for tokens in ("input_tokens", "cache_read_tokens", "output_tokens")
        ),
        known_sum((given - cached - again).filter(split)).alias("split_new"),
        known_sum(again.filter(split & (given - cached).is_not_null())).alias("split_recomputed"),
        known_sum(put_out.filter(split)).alias("split_output"),
    )
    return sums.sort(by)


def ends(ended: pl.DataFrame) -> pl.DataFrame:
    """Requests by the bucket in which they ended and their first card (None: on none)."""
    by = ["bucket_ns", "card"]
    bucket = pl.col("end_ns") // BUCKET_NS * BUCKET_NS
    whole = ended.filter("is_request").with_columns(bucket_ns=bucket)
    return whole.group_by(by).agg(pl.len().cast(pl.Int64).alias("requests")).sort(by)


def known_sum(values: pl.Expr) -> pl.Expr:
    """The sum of what is known; None where nothing is."""
    return pl.when(values.count() > 0).then(values.sum())
