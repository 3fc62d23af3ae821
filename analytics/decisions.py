"""A day's routing decisions as small tables that add up: by policy, hits, regret and shadow.

A decision counts on the day on which its attempt ended. What it did not tell is left out of the
sums and counted, never taken for zero. A hit that the router estimated, as the engine told none, is
no hit that was: neither it nor the regret of its decision is among what was told, and both are
counted apart.
"""

from typing import Any

import polars as pl

FIGURES = (
    "decisions", "hits_known", "hits_estimated", "hit_tokens", "actual_hit_tokens",
    "regret_known", "regret_estimated", "regretted", "regret_ms",
)  # fmt: skip
KEYS = {
    "decisions": ("policy", "reason", "card"),
    "hits": ("predicted_from", "actual_from"),
    "regrets": ("from_ms",),
    "shadows": ("policy", "shadow_policy"),
}
Table = list[dict[str, Any]]

_CANDIDATE = pl.Struct({"engine": pl.String, "hit_tokens": pl.Int64, "estimate_ms": pl.Int64})
_ROUTE = pl.Struct(
    {
        **dict.fromkeys(("policy", "reason", "chosen", "shadow_policy", "shadow"), pl.String),
        **dict.fromkeys(("hit_tokens", "actual_hit_tokens", "regret_ms"), pl.Int64),
        "candidates": pl.List(_CANDIDATE),
    }
)


def tables(ended: pl.DataFrame) -> dict[str, Table]:
    """The tables of `KEYS`, from the attempts of a day (`rollup.ended`).

    decisions: `FIGURES`, the tokens of decisions whose hit is known both as predicted and as it
    was reported, `regret_ms` the sum of those above zero. hits: the same decisions and tokens by
    both hits (`rounded_down`). regrets: decisions and the sum of their ms, by size (likewise).
    shadows: decisions with a second policy's choice, how many agreed, and of those where both
    engines' waits were estimated the number and the sum of either.
    """
    routed = told(ended)
    return {
        "decisions": _summed(_with_figures(routed), "decisions", FIGURES),
        "hits": _hits(routed),
        "regrets": _regrets(routed),
        "shadows": _shadows(routed),
    }


def rounded_down(numbers: pl.Expr, bits: int) -> pl.Expr:
    """Whole numbers with all but their leading binary digits cleared, towards zero: bins that grow
    with what they hold. With 3 bits none is wider than a quarter of its lower bound."""
    size = numbers.abs()
    length = 64 - size.cast(pl.UInt64).bitwise_leading_zeros().cast(pl.Int64)
    step = pl.lit(2, dtype=pl.Int64).pow((length - bits).clip(lower_bound=0))
    return (size // step * step * numbers.sign()).cast(pl.Int64)


def told(ended: pl.DataFrame) -> pl.DataFrame:
    """One row per decision of attempts (`rollup.ended`): card, the route's own fields, what the
    chosen engine and the shadow's were estimated to take (chosen_ms, shadow_ms), and
    estimated_hit_tokens.

    hit_tokens is also the chosen candidate's; actual_hit_tokens also what the engine reported with
    the attempt. Where it reported none, estimated_hit_tokens is what the router took it to be.
    """
    routed = ended.drop_nulls("route").select(
        "card", "cache_read_tokens", "cached_is_estimated", "route"
    )
    told = routed.with_columns(pl.col("route").str.json_decode(_ROUTE)).unnest("route")
    told = told.with_row_index("decision")
    weighed = told.select("decision", "candidates").explode("candidates").drop_nulls("candidates")
    weighed = weighed.unnest("candidates").unique(["decision", "engine"], keep="first")
    chosen = weighed.select(
        "decision", chosen="engine", believed="hit_tokens", chosen_ms="estimate_ms"
    )
    other = weighed.select("decision", shadow="engine", shadow_ms="estimate_ms")
    told = told.join(chosen, on=["decision", "chosen"], how="left")
    told = told.join(other, on=["decision", "shadow"], how="left")
    cached, estimated = pl.col("cache_read_tokens"), pl.col("cached_is_estimated")
    reported = pl.when(~estimated).then(cached)
    unreported = pl.col("actual_hit_tokens").is_null()
    told = told.with_columns(
        hit_tokens=pl.coalesce("hit_tokens", "believed"),
        actual_hit_tokens=pl.coalesce("actual_hit_tokens", reported),
    ).with_columns(estimated_hit_tokens=pl.when(unreported).then(cached))
    return told.drop("candidates", "believed", "cache_read_tokens", "cached_is_estimated")


def _with_figures(told: pl.DataFrame) -> pl.DataFrame:
    both = pl.col("hit_tokens").is_not_null() & pl.col("actual_hit_tokens").is_not_null()
    estimated = pl.col("estimated_hit_tokens").is_not_null()
    regret = pl.when(~estimated).then("regret_ms")
    apart = estimated & pl.col("regret_ms").is_not_null()
    return told.with_columns(
        decisions=pl.lit(1),
        hits_known=both.cast(pl.Int64),
        hits_estimated=estimated.cast(pl.Int64),
        hit_tokens=pl.when(both).then("hit_tokens"),
        actual_hit_tokens=pl.when(both).then("actual_hit_tokens"),
        regret_known=regret.is_not_null().cast(pl.Int64),
        regret_estimated=apart.cast(pl.Int64),
        regretted=(regret > 0).cast(pl.Int64),
        regret_ms=pl.when(regret > 0).then(regret),
    )


def _hits(told: pl.DataFrame) -> Table:
    known = told.drop_nulls(["hit_tokens", "actual_hit_tokens"]).with_columns(
        decisions=pl.lit(1),
        predicted_from=rounded_down(pl.col("hit_tokens"), 3),
        actual_from=rounded_down(pl.col("actual_hit_tokens"), 3),
    )
    return _summed(known, "hits", ("decisions", "hit_tokens", "actual_hit_tokens"))


def _regrets(told: pl.DataFrame) -> Table:
    known = told.filter(pl.col("estimated_hit_tokens").is_null()).drop_nulls("regret_ms")
    known = known.with_columns(decisions=pl.lit(1), from_ms=rounded_down(pl.col("regret_ms"), 1))
    return _summed(known, "regrets", ("decisions", "regret_ms"))


def _shadows(told: pl.DataFrame) -> Table:
    both = pl.col("chosen_ms").is_not_null() & pl.col("shadow_ms").is_not_null()
    known = told.drop_nulls("shadow").with_columns(
        decisions=pl.lit(1),
        agreed=(pl.col("shadow") == pl.col("chosen")).cast(pl.Int64),
        estimated=both.cast(pl.Int64),
        chosen_ms=pl.when(both).then("chosen_ms"),
        shadow_ms=pl.when(both).then("shadow_ms"),
    )
    return _summed(known, "shadows", ("decisions", "agreed", "estimated", "chosen_ms", "shadow_ms"))


def _summed(rows: pl.DataFrame, table: str, figures: tuple[str, ...]) -> Table:
    by = KEYS[table]
    sums = rows.group_by(by).agg(pl.col(figures).sum().cast(pl.Int64)).sort(by)
    return sums.to_dicts()
