"""What routing decisions came to: cards, hits, herding, misses, regret, and a shadow's choices.

Each day keeps small tables (`of_day`); a period adds them up (`routing`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analytics import decisions, herding, misses
from analytics.books import Books
from analytics.decisions import FIGURES, Table
from collector.clock import from_ns as instant

NONE = "(none)"
NO_DECISION = "no request told a routing decision; those that come through the router do"
NO_HIT = "no decision told both the hit that it predicted and the hit that was"
NO_REGRET = "no decision told its regret: it takes a first token and another candidate"
NO_SHADOW = "no decision told what another policy would have chosen; `router.shadow` sets one"


def of_day(
    books: Books,
    cells: pl.DataFrame,
    leaves: pl.DataFrame,
    ended: pl.DataFrame,
    span: tuple[int, int],
) -> dict[str, Any]:
    """What a day keeps, as plain values: `decisions.tables`, `misses.tables` and, as `herding`,
    `herding.stretches`. The frames are those of the day [start, end)."""
    return {
        **decisions.tables(ended),
        **misses.tables(books, leaves, ended),
        "herding": herding.stretches(books, cells, *span),
    }


def routing(days: Sequence[Mapping[str, Any]], ends: pl.DataFrame) -> dict[str, Any]:
    """The figures of a period, from `of_day` of its days and their `ends` (`rollup.ends`).

    A part is None where nothing told it; `unknown` has the reason. See docs/routing.md.
    """
    told = _summed(days, "decisions")
    hits, shadows = _summed(days, "hits"), _summed(days, "shadows")
    regrets, missed = _summed(days, "regrets"), misses.missed(days)
    why = {
        "hits": NO_HIT if told else NO_DECISION,
        "regret": NO_REGRET if told else NO_DECISION,
        "shadow": NO_SHADOW if told else NO_DECISION,
        "misses": misses.UNTOLD,
    }
    parts = {
        "hits": _hits(hits) if hits else None,
        "regret": _regret(regrets) if regrets else None,
        "shadow": shadows or None,
        "misses": missed,
    }
    return {
        "decisions": sum(row["decisions"] for row in told),
        "by_policy": [
            {**group, "by_reason": _grouped(told, "reason", policy=group["name"])}
            for group in _grouped(told, "policy")
        ],
        "by_card": _grouped(told, "card"),
        "over_time": _over_time(ends),
        **parts,
        "herding": herding.herding([day["herding"] for day in days]),
        "unknown": {name: why[name] for name, part in parts.items() if part is None},
    }


def _summed(days: Sequence[Mapping[str, Any]], table: str) -> Table:
    rows = [row for day in days for row in day[table]]
    if not rows:
        return []
    by = decisions.KEYS[table]
    sums = pl.DataFrame(rows, infer_schema_length=None).group_by(by).agg(pl.exclude(by).sum())
    return sums.sort(by).to_dicts()


def _grouped(told: Table, by: str, **only: str) -> Table:
    """`FIGURES` by one key, the most decisions first; hits and regret are None where unknown."""
    groups: dict[str, dict[str, int]] = {}
    for row in told:
        if all((row[key] or NONE) == value for key, value in only.items()):
            sums = groups.setdefault(row[by] or NONE, dict.fromkeys(FIGURES, 0))
            for figure in FIGURES:
                sums[figure] += row[figure]
    ordered = sorted(groups.items(), key=lambda group: (-group[1]["decisions"], group[0]))
    return [{"name": name, **_known(sums)} for name, sums in ordered]


def _known(sums: dict[str, int]) -> dict[str, int | None]:
    """Sums of nothing known are not zero."""
    rests_on = {
        "hit_tokens": "hits_known",
        "actual_hit_tokens": "hits_known",
        "regretted": "regret_known",
        "regret_ms": "regret_known",
    }
    return {
        name: None if name in rests_on and not sums[rests_on[name]] else value
        for name, value in sums.items()
    }


def _hits(pairs: Table) -> dict[str, Any]:
    figures = ("decisions", "hit_tokens", "actual_hit_tokens")
    return {**{name: sum(row[name] for row in pairs) for name in figures}, "pairs": pairs}


def _regret(bins: Table) -> dict[str, Any]:
    above = [row for row in bins if row["from_ms"] > 0]
    return {
        "decisions": sum(row["decisions"] for row in bins),
        "regretted": sum(row["decisions"] for row in above),
        "regret_ms": sum(row["regret_ms"] for row in above),
        "bins": bins,
    }


def _over_time(ends: pl.DataFrame) -> Table:
    """Requests by card in the quarter hour in which they ended; those without any are left out."""
    cards: dict[int, dict[str, int]] = {}
    sums = ends.group_by("bucket_ns", "card").agg(pl.col("requests").sum())
    for at, card, requests in sums.sort("bucket_ns", "card", nulls_last=True).iter_rows():
        cards.setdefault(at, {})[card or NONE] = requests
    return [{"at": instant(at).isoformat(), "requests": own} for at, own in cards.items()]
