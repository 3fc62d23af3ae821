"""Whether a prefix that was computed before would have been a hit at a provider, by its own rules.

One cache for the whole account, whatever the session. A request reads and writes it at the
instant in which it arrives, so requests in flight together find each other: that favours the
provider. A prefix counts as cached while the last use of it is no longer ago than its time to
live. So a replay may begin one time to live before the first request that is asked about: what
was used before that and not since is gone. Only where a prefix lives from its writing, or is
written by some of its uses alone, may an older use matter; it is then taken for gone.
"""

from dataclasses import dataclass
from typing import Literal

import numpy as np
import polars as pl

from analytics.intervals import Flags, Ints

REPLAYED = ["received_ns", "input_tokens", "prefix", "prefix_tokens"]


@dataclass(frozen=True, kw_only=True)
class CacheRules:
    """A provider's cache: its minimum and granularity in tokens as it counts them, times in ns.

    `unit` is what a hit ends on: `block` any told prefix, floored to the granularity; `breakpoint`
    any told prefix, whole; `request` the whole prompt of an earlier request alone. Without
    `refreshed` a prefix lives from when it was written, used or not. `ratio_e4` is how many
    ten-thousandths of its tokens one of ours makes.
    """

    ttl_ns: int
    min_prefix_tokens: int = 0
    granularity_tokens: int = 1
    unit: Literal["block", "breakpoint", "request"] = "block"
    refreshed: bool = True
    write_billed: bool = False
    ratio_e4: int = 10_000


def replay(requests: pl.DataFrame, rules: CacheRules) -> pl.DataFrame:
    """The tokens that each request would have read and written: hit_tokens, write_tokens.

    `requests` has `REPLAYED`; rows of the same instant arrive in their order. The result is
    aligned with it. Both figures are None where a request told no prefix; written is what lies
    between the hit and the longest prefix that can be kept, and 0 where writing costs nothing
    extra. A prefix of more tokens than the input is impossible and left out; of one that a
    request names twice the first counts.
    """
    rows = requests.select(REPLAYED).with_row_index("row")
    uses = _uses(rows, rules)
    found = uses.with_columns(alive=pl.Series(_alive(uses, rules), dtype=pl.Boolean))
    kept = found.group_by("row").agg(
        pl.col("tokens").filter("alive").max().fill_null(0).alias("hit_tokens"),
        pl.col("tokens").max().alias("longest"),
    )
    told = pl.col("prefix").list.len() > 0
    written = pl.col("longest") - pl.col("hit_tokens") if rules.write_billed else pl.lit(0)
    joined = rows.join(kept, on="row", how="left", maintain_order="left")
    return joined.with_columns(pl.col("hit_tokens", "longest").fill_null(0)).select(
        pl.when(told).then("hit_tokens"), pl.when(told).then(written).alias("write_tokens")
    )


def _uses(rows: pl.DataFrame, rules: CacheRules) -> pl.DataFrame:
    """One row per request and prefix that can be kept, each prefix's in order of arrival: row,
    key, at_ns, tokens, and whether it is the longest of its request."""
    ours = pl.col("prefix_tokens")
    theirs = ours * rules.ratio_e4 // 10_000
    if rules.unit == "block":
        theirs = theirs // rules.granularity_tokens * rules.granularity_tokens
        ours = theirs * 10_000 // rules.ratio_e4
    uses = (
        rows.sort("received_ns", maintain_order=True)
        .with_row_index("order")
        .filter(pl.col("prefix").list.len() > 0)
        .explode("prefix", "prefix_tokens")
        .filter((pl.col("prefix_tokens") <= pl.col("input_tokens")).fill_null(True))
        .select(
            "row", "order",
            pl.col("prefix").cast(pl.Categorical).to_physical().alias("key"),
            pl.col("received_ns").alias("at_ns"),
            ours.alias("tokens"),
            theirs.alias("theirs"),
        )
        .filter(pl.col("theirs") >= max(rules.min_prefix_tokens, 1))
    )  # fmt: skip
    uses = uses.sort("key", maintain_order=True)
    again = pl.all_horizontal(pl.col(name) == pl.col(name).shift(1) for name in ("key", "order"))
    longest = pl.col("tokens") == pl.col("tokens").max().over("order")
    return uses.filter(~again.fill_null(False)).with_columns(longest=longest)


def _alive(uses: pl.DataFrame, rules: CacheRules) -> Flags:
    """Whether each use finds its prefix in the cache."""
    at, key = uses["at_ns"].to_numpy(), uses["key"].to_numpy()
    writes = np.ones(len(at), dtype=bool)
    if rules.unit == "request":
        writes = uses["longest"].to_numpy()
    if not rules.refreshed:
        return _from_write_on(key, at, writes, rules.ttl_ns)
    if not len(at):
        return writes
    begins = np.ones(len(at), dtype=bool)
    begins[1:] = (key[1:] != key[:-1]) | (np.diff(at) > rules.ttl_ns)
    earlier = np.cumsum(writes) - writes
    stretch = np.cumsum(begins) - 1
    alive: Flags = earlier > earlier[begins][stretch]
    return alive


def _from_write_on(key: Ints, at: Ints, writes: Flags, ttl_ns: int) -> Flags:
    """As `_alive`, where no use prolongs the life that began with the writing."""
    alive = np.zeros(len(at), dtype=bool)
    last, until = None, 0
    uses = zip(key.tolist(), at.tolist(), writes.tolist(), strict=True)
    for place, (name, now, written) in enumerate(uses):
        alive[place] = name == last and now <= until
        if name != last:
            last, until = name, now - 1
        if written and not alive[place]:
            until = now + ttl_ns
    return alive
