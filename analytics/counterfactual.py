"""The same requests at an API, three ways: without a cache, with the same hits as here, and with
the provider's own cache replayed.

None bounds another. The headline takes for each request the replay where it told its prefixes and
the sheet tells its provider's rules, else the hits as here. All three bill the requests that the
headline can price; what it cannot is counted by reason. Where a hit is only probable, a request
costs the expected value of its bill; what the cache holds is not touched by that.
"""

from collections import Counter
from dataclasses import asdict, dataclass, field
from decimal import Decimal
from typing import Any

import polars as pl

from analytics.cache_replay import REPLAYED, CacheRules, replay
from analytics.prices.bill import bill
from analytics.prices.sheet import CachePolicy, Sheet
from analytics.timeline import PREFILL_ONLY
from collector.clock import SECOND_NS

KEYS = ("prefix", "prefix_tokens")
BILLED = [
    *REPLAYED, "operation", "is_request",
    "output_tokens", "cache_read_tokens", "cache_write_tokens", "reasoning_tokens",
]  # fmt: skip
# Where a provider says of its cache's life only that it is hours to days.
UNTOLD_TTL_NS = 24 * 3600 * SECOND_NS
EMBEDS = "embeddings and rankings are not sold by the sheet"
CERTAIN = 10_000


@dataclass
class Bill:
    """What requests come to on a sheet, nano-units of its currency; bills add up.

    requests: all that were asked about; priced: those that the headline prices; keyed: of these,
    those whose cache was replayed; told: of these, those whose hits here are known, which
    `same_hits_nano` bills. output_nano is the part of `no_cache_nano` that is for output alone,
    output_tokens what it is for. unpriced and noted count requests by reason.
    """

    requests: int = 0
    priced: int = 0
    keyed: int = 0
    told: int = 0
    no_cache_nano: int = 0
    same_hits_nano: int = 0
    headline_nano: int = 0
    output_nano: int = 0
    output_tokens: int = 0
    unpriced: dict[str, int] = field(default_factory=dict)
    noted: dict[str, int] = field(default_factory=dict)

    def __add__(self, other: "Bill") -> "Bill":
        """Both together."""
        mine, theirs = asdict(self), asdict(other)
        return Bill(**{name: _both(mine[name], theirs[name]) for name in mine})


def _both(one: Any, other: Any) -> Any:
    return dict(Counter(one) + Counter(other)) if isinstance(one, dict) else one + other


def rules_of(sheet: Sheet) -> CacheRules | None:
    """The sheet's cache as a replay needs it; None where it tells of none."""
    policy = sheet.cache
    if policy is None or policy.mode == "none":
        return None
    return CacheRules(
        ttl_ns=_life(policy)[1],
        min_prefix_tokens=policy.min_prefix_tokens or 0,
        granularity_tokens=policy.granularity_tokens or 1,
        unit="request" if policy.boundary == "request_unit" else policy.boundary,
        refreshed=policy.refresh_on_hit,
        write_billed=policy.write_billed,
        ratio_e4=int(Decimal(sheet.tokenizer_ratio) * 10_000),
    )


def reach_ns(sheet: Sheet) -> int:
    """How long the sheet's cache remembers."""
    rules = rules_of(sheet)
    return rules.ttl_ns if rules else 0


def _life(policy: CachePolicy | None) -> tuple[str, int]:
    """The time to live that counts and its name: the default one, else the shortest."""
    if policy is None or not policy.ttl_seconds:
        return "default", UNTOLD_TTL_NS
    seconds = policy.ttl_seconds
    name = min(seconds, key=lambda each: (each != "default", seconds[each]))
    return name, seconds[name] * SECOND_NS


def billed(earlier: pl.DataFrame, attempts: pl.DataFrame, sheet: Sheet) -> Bill:
    """The bill for attempts (`BILLED`); earlier ones are only remembered by the cache.

    Of the tries of a request one counts (`is_request`), for the bill and for the cache. Tokens
    that an engine here does not tell to have written count as not written.
    """
    if attempts.is_empty():
        return Bill()
    asked = attempts.filter("is_request")
    sold = asked.filter(~pl.col("operation").is_in(PREFILL_ONLY))
    here = sold["cache_write_tokens"].fill_null(0)
    free = _charged(sold, sheet, _nothing(sold), _nothing(sold))
    mute = sold.with_columns(output_tokens=_nothing(sold), reasoning_tokens=_nothing(sold))
    read = _charged(mute, sheet, _nothing(sold), _nothing(sold))
    same = _charged(sold, sheet, sold["cache_read_tokens"], here)
    beside = {
        "same": same["nano"],
        "no_cache": free["nano"],
        "output": free["nano"] - read["nano"],
        "tokens": sold["output_tokens"],
    }
    rules = rules_of(sheet)
    if sheet.cache is not None and sheet.cache.mode == "none":
        rows = free.with_columns(keyed=pl.lit(True))
    elif rules is None:
        rows = same.with_columns(keyed=pl.lit(False))
    else:
        found = _replayed(earlier.filter("is_request"), sold, rules)
        rows = _with_replay(same, found, sold, sheet)
    return _summed(rows.with_columns(**beside), embeddings=len(asked) - len(sold))


def _nothing(requests: pl.DataFrame) -> pl.Series:
    return pl.zeros(len(requests), dtype=pl.Int64, eager=True)


def _charged(
    requests: pl.DataFrame, sheet: Sheet, read: pl.Series, written: pl.Series
) -> pl.DataFrame:
    """The sheet's answers (`bill`) with these tokens read from and written to its cache."""
    tokens = requests.with_columns(cache_read_tokens=read, cache_write_tokens=written)
    return bill(tokens, sheet, ttl=_life(sheet.cache)[0])


def _replayed(earlier: pl.DataFrame, requests: pl.DataFrame, rules: CacheRules) -> pl.DataFrame:
    """What the requests would have read and written after the earlier ones."""
    if not requests["prefix"].explode().count():
        return replay(requests, rules)
    both = pl.concat([earlier.select(REPLAYED), requests.select(REPLAYED)])
    return replay(both, rules).tail(len(requests))


def _with_replay(
    same: pl.DataFrame, found: pl.DataFrame, requests: pl.DataFrame, sheet: Sheet
) -> pl.DataFrame:
    """The answers for the same hits, replaced by the replay's where there is one (`keyed`)."""
    keyed = found["hit_tokens"].is_not_null()
    if not keyed.any():
        return same.with_columns(keyed=keyed)
    answer = _expected(found.fill_null(0), requests, sheet)
    return same.with_columns(
        *(answer[name].zip_with(keyed, same[name]).alias(name) for name in same.columns),
        keyed=keyed,
    )


def _expected(found: pl.DataFrame, requests: pl.DataFrame, sheet: Sheet) -> pl.DataFrame:
    """The answers for the replay's hits, weighed with those for none: both bills rounded once,
    and so is their mean."""
    hits, writes = found["hit_tokens"], found["write_tokens"]
    answer = _charged(requests, sheet, hits, writes)
    policy = sheet.cache
    likely = int(Decimal(policy.hit_probability) * CERTAIN) if policy else CERTAIN
    if policy is None or likely == CERTAIN:
        return answer
    anew = hits + writes if policy.write_billed else writes
    missed = _charged(requests, sheet, _nothing(requests), anew)["nano"]
    one, other = pl.col("nano").cast(pl.Int128), pl.col("missed").cast(pl.Int128)
    mean = (one * likely + other * (CERTAIN - likely) + CERTAIN // 2) // CERTAIN
    return answer.with_columns(missed=missed).with_columns(nano=mean.cast(pl.Int64)).drop("missed")


def _summed(rows: pl.DataFrame, embeddings: int) -> Bill:
    """Rows with the headline's `nano`, `why` and `note`, `keyed`, and the figures beside it."""
    priced = rows.filter(pl.col("nano").is_not_null())
    unpriced = _counted(rows.filter(pl.col("nano").is_null())["why"])
    return Bill(
        requests=len(rows) + embeddings,
        priced=len(priced),
        keyed=int(priced["keyed"].sum()),
        told=priced["same"].count(),
        no_cache_nano=int(priced["no_cache"].sum()),
        same_hits_nano=int(priced["same"].sum()),
        headline_nano=int(priced["nano"].sum()),
        output_nano=int(priced["output"].sum()),
        output_tokens=int(priced["tokens"].sum()),
        unpriced=unpriced | ({EMBEDS: embeddings} if embeddings else {}),
        noted=_counted(priced["note"].drop_nulls()),
    )


def _counted(reasons: pl.Series) -> dict[str, int]:
    return dict(reasons.value_counts().sort("count", reasons.name).iter_rows())
