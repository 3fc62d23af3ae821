"""Why prompt tokens were computed and not read from a cache, and what computing them cost.

Of what was `recomputed`: `misrouted` had been computed last by another engine of the pool,
`evicted` by this one, which has lost it. Of what was `new`: `rewritten` stands where the
conversation had an earlier history, `new` nobody had computed. `untold` is all of which nothing
can be said: no prefix keys, or no count of cached tokens.

Tokens count where their attempt ended, time and money where its leaves are, as everywhere; each
leaf is split by the tokens of its attempt.
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

import polars as pl

from analytics import rollup
from analytics.books import Books

# Each kind of prefill: the cause whose tokens split its leaves, and the cause of the rest.
CAUSES: Final = ("misrouted", "evicted", "rewritten", "new", "untold")
KINDS: Final = {"recomputed": ("misrouted", "evicted"), "new": ("rewritten", "new", "untold")}
FIGURES: Final = ("requests", "tokens", "ns", "nano")
UNTOLD: Final = (
    "no request told prefix keys, so why its prompt was computed is not known;"
    " requests that come through the router tell them"
)
Table = list[dict[str, Any]]
_TOKENS = {"card": pl.String, "cause": pl.String, "requests": pl.Int64, "tokens": pl.Int64}


def asked(ended: pl.DataFrame) -> dict[str, Table]:
    """What the attempts of a day (`rollup.ended`) tell of their misses: requests and tokens by
    card and cause (`misses`), `breaks` of rewritten conversations by the messages that still stood
    and the tenth of the prompt that they are, and `keyed` those that told prefixes, by card."""
    keyed = ended.filter(pl.col("prefix").list.len() > 0)
    counts = keyed.group_by("card").agg(attempts=pl.len().cast(pl.Int64)).sort("card")
    return {
        "misses": _tokens(ended).sort("card", "cause").to_dicts(),
        "breaks": _breaks(ended),
        "keyed": counts.to_dicts(),
    }


def priced(misses: Table, requests: pl.DataFrame, leaves: pl.DataFrame) -> Table:
    """A day's misses (`asked`) by card and cause with what they took and cost: `FIGURES`.

    `requests` (`rollup.requests`) and `leaves` (`rollup.priced`) are those of the day.
    """
    tokens = pl.DataFrame(misses, schema=_TOKENS)
    sums = _by(["card", "cause"], tokens, _leaves(requests, leaves))
    return sums.sort("card", "cause").to_dicts()


def of_one(books: Sequence[Books], ended: pl.DataFrame) -> dict[str, dict[str, int]]:
    """The misses of one attempt by cause (`FIGURES`), from its row of `rollup.ended` and the books
    of each day that it was computed in; causes without any are left out."""
    name = {column: ended[column].item() for column in ("source", "event_id")}
    parts = [_tokens(ended)]
    for each in books:
        it = each.rows.filter(**name)["request"].unique()
        own = each.leaves.filter(pl.col("request").is_in(it.implode()))
        lines = each.money.filter(pl.col("leaf").is_in(own["leaf"].implode()))
        nano = lines.group_by("leaf").agg(pl.col("nano").sum())
        own = own.join(nano, on="leaf", how="left")
        parts.append(
            _leaves(rollup.requests(each.rows), own.with_columns(pl.col("nano").fill_null(0)))
        )
    sums = _by(["cause"], *parts)
    told = sums.filter(pl.any_horizontal(pl.col(FIGURES) != 0)).to_dicts()
    return {row.pop("cause"): row for row in sorted(told, key=lambda r: CAUSES.index(r["cause"]))}


def _by(keys: list[str], *parts: pl.DataFrame) -> pl.DataFrame:
    return pl.concat(parts, how="diagonal").group_by(keys).agg(pl.col(FIGURES).sum())


def _tokens(ended: pl.DataFrame) -> pl.DataFrame:
    """Requests and tokens by card and cause, of attempts whose time could be split into kinds."""
    fresh = pl.col("input_tokens") - pl.col("cache_read_tokens")
    again, gone, changed = (
        pl.col(f"{name}_tokens") for name in ("recomputed", "evicted", "rewritten")
    )
    told = (pl.col("prefix").list.len() > 0) & pl.col("is_carded")
    rest = fresh - again - changed
    causes = ended.filter("is_split", fresh.is_not_null()).select(
        "card",
        misrouted=again - gone,
        evicted=gone,
        rewritten=changed,
        new=pl.when(told).then(rest).otherwise(0),
        untold=pl.when(told).then(0).otherwise(rest),
    )
    long = causes.unpivot(CAUSES, index="card", variable_name="cause", value_name="tokens")
    return (
        long.filter(pl.col("tokens") != 0)
        .group_by("card", "cause")
        .agg(pl.len().cast(pl.Int64).alias("requests"), pl.col("tokens").sum())
    )


def _leaves(requests: pl.DataFrame, leaves: pl.DataFrame) -> pl.DataFrame:
    """Time and money by card and cause."""
    again, gone, changed = (
        pl.col(f"{name}_tokens") for name in ("recomputed", "evicted", "rewritten")
    )
    is_again = pl.col("kind") == "recomputed"
    fresh = pl.col("fresh_tokens")
    told = ["is_keyed", "fresh_tokens", "recomputed_tokens", "evicted_tokens", "rewritten_tokens"]
    # Of an attempt without keys nothing is told.
    keyed = requests.select("request", *told).filter("is_keyed")
    found = leaves.filter(pl.col("kind").is_in(list(KINDS)))
    found = found.select("card", "request", "kind", "ns", "nano").join(keyed, "request", how="left")
    found = found.with_columns(
        first=pl.when(is_again).then(again - gone).otherwise(changed),
        whole=pl.when(is_again).then(again).otherwise(fresh - again),
        first_cause=pl.when(is_again).then(pl.lit("misrouted")).otherwise(pl.lit("rewritten")),
        other_cause=pl.when(is_again)
        .then(pl.lit("evicted"))
        .when(pl.col("is_keyed") & fresh.is_not_null())
        .then(pl.lit("new"))
        .otherwise(pl.lit("untold")),
    )
    found = found.with_columns(ns_1=part("ns"), nano_1=part("nano"))
    first = found.select("card", cause="first_cause", ns="ns_1", nano="nano_1")
    other = found.select(
        "card",
        cause="other_cause",
        ns=pl.col("ns") - pl.col("ns_1"),
        nano=pl.col("nano") - pl.col("nano_1"),
    )
    return pl.concat([first, other]).group_by("card", "cause").agg(pl.col("ns", "nano").sum())


def part(figure: str) -> pl.Expr:
    """What `first` of `whole` tokens take of a leaf's figure: of two parts that is the largest
    remainder, which goes to the first where both are equal."""
    first, whole = (pl.col(name).cast(pl.Int128) for name in ("first", "whole"))
    share = (2 * pl.col(figure).cast(pl.Int128) * first + whole) // (2 * whole)
    return pl.when((pl.col("first") > 0).fill_null(False)).then(share).otherwise(0).cast(pl.Int64)


def _breaks(ended: pl.DataFrame) -> Table:
    stood = pl.col("cache_read_tokens") + pl.col("recomputed_tokens")
    broken = ended.filter("is_split", pl.col("rewritten_tokens") > 0).select(
        message="broke_at",
        tenth=10 * stood // pl.col("input_tokens"),
        requests=pl.lit(1),
        tokens="rewritten_tokens",
    )
    sums = broken.group_by("message", "tenth").agg(pl.col("requests", "tokens").sum())
    return sums.sort("message", "tenth").cast(pl.Int64).to_dicts()


def missed(days: Sequence[Mapping[str, Any]]) -> dict[str, Any] | None:
    """The misses of a period by cause and by card, from `asked` of its days, their misses `priced`;
    None where no attempt told prefixes, and so each cause of a card where none did."""
    keyed = {row["card"] for day in days for row in day["keyed"]}
    if not keyed:
        return None
    rows: Table = [row for day in days for row in day["misses"]]
    cards = sorted({row["card"] for row in rows}, key=lambda card: (card is None, card))
    breaks: dict[tuple[int, int], list[int]] = {}
    for row in (row for day in days for row in day["breaks"]):
        sums = breaks.setdefault((row["message"], row["tenth"]), [0, 0])
        sums[0] += row["requests"]
        sums[1] += row["tokens"]
    return {
        "causes": _causes(rows),
        "by_card": [
            {
                "name": card or "(none)",
                "causes": {
                    # A split model's request told its keys at its first card alone, and one that
                    # goes on beyond the period tells them where it ends.
                    cause: sums
                    if card in keyed or cause == "untold" or any(sums.values())
                    else None
                    for cause, sums in _causes(r for r in rows if r["card"] == card).items()
                },
            }
            for card in cards
        ],
        "breaks": [
            {"message": message, "tenth": tenth, "requests": requests, "tokens": tokens}
            for (message, tenth), (requests, tokens) in sorted(breaks.items())
        ],
    }


def _causes(rows: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, int]]:
    own = list(rows)
    return {
        cause: {
            name: sum(row[figure] for row in own if row["cause"] == cause)
            for figure, name in zip(FIGURES, ("requests", "tokens", "ns", "cost_nano"), strict=True)
        }
        for cause in CAUSES
    }
