"""What routing decisions came to: cards, hits, herding, misses, regret, and a shadow's choices.

Each day keeps small tables (`of_day`); a period adds them up (`routing`).
"""

from collections.abc import Mapping, Sequence
from typing import Any

import polars as pl

from analytics import decisions, herding, misses
from analytics.decisions import FIGURES, Table
from analytics.timesheet import Timesheet
from collector.clock import from_ns as instant

NONE = "(none)"
NO_DECISION = "no request told a routing decision; those that come through the router do"
NO_HIT = "no decision told both the hit that it predicted and the hit that was reported"
NO_REGRET = "no decision told its regret: it takes a first token and another candidate"
ESTIMATED = "; where the engine reported no hit and it was estimated, that is counted apart"
NO_SHADOW = "no decision told what another policy would have chosen; `router.shadow` sets one"


def of_day(sheet: Timesheet, cells: pl.DataFrame, leaves: pl.DataFrame) -> dict[str, Any]:
    """What a day keeps, as plain values: what its attempts told, its `misses.priced` and,
    as `herding`, `herding.stretches`; from its timesheet, its `cells` and its requests' leaves."""
    told = sheet.facts["routing"]
    return {
        **told,
        "misses": misses.priced(told["misses"], sheet.requests, leaves),
        "herding": herding.stretches(sheet, cells),
    }


def routing(
    days: Sequence[Mapping[str, Any]], ends: Sequence[tuple[str, pl.DataFrame]]
) -> dict[str, Any]:
    """The figures of a period, from `of_day` of its days and of each its name and what ended in it
    (`rollup.ends`).

    A part is None where nothing told it; `unknown` has the reason. See docs/routing.md.
    """
    told = _summed(days, "decisions")
    hits, shadows = _summed(days, "hits"), _summed(days, "shadows")
    regrets, missed = _summed(days, "regrets"), misses.missed(days)
    estimated = {name: sum(row[f"{name}_estimated"] for row in told) for name in ("hits", "regret")}
    why = {
        "hits": _why(NO_HIT, told, estimated["hits"]),
        "regret": _why(NO_REGRET, told, estimated["regret"]),
        "shadow": NO_SHADOW if told else NO_DECISION,
        "misses": misses.UNTOLD,
    }
    herded = herding.herding([day["herding"] for day in days])
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
        "requests_by_card": _shares(ends),
        "by_day": _by_day(ends),
        "over_time": _over_time(ends),
        **parts,
        "estimated": estimated,
        "herding": herded,
        "at_stake": _at_stake(herded, missed),
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


def _why(reason: str, told: Table, estimated: int) -> str:
    return (reason + ESTIMATED if estimated else reason) if told else NO_DECISION


def _at_stake(herded: Mapping[str, Any], missed: Mapping[str, Any] | None) -> dict[str, Any]:
    """What another choice of card might have saved at most, as far as it is told: cards that stood
    by beside a queue, and prompts that another card had computed (None: nobody told)."""
    again = missed["causes"]["misrouted"]["cost_nano"] if missed else None
    return {
        "herding_nano": herded["cost_nano"],
        "misrouted_nano": again,
        "nano": herded["cost_nano"] + (again or 0),
    }


def _shares(ends: Sequence[tuple[str, pl.DataFrame]]) -> Table:
    """Requests by card, most first, with their shares of all."""
    requests: dict[str, int] = {}
    for _, each in ends:
        for card, number in _by_card(each).items():
            requests[card] = requests.get(card, 0) + number
    every = sum(requests.values())
    return [
        {"name": card, "requests": number, "share": number / every}
        for card, number in sorted(requests.items(), key=lambda each: (-each[1], each[0]))
    ]


def _by_day(ends: Sequence[tuple[str, pl.DataFrame]]) -> Table:
    """Requests by card in each local day in which one ended."""
    return [{"name": day, "requests": own} for day, each in ends if (own := _by_card(each))]


def _by_card(ends: pl.DataFrame) -> dict[str, int]:
    sums = ends.group_by("card").agg(pl.col("requests").sum()).sort("card", nulls_last=True)
    return {card or NONE: requests for card, requests in sums.iter_rows()}


def _over_time(ends: Sequence[tuple[str, pl.DataFrame]]) -> Table:
    """Requests by card in the quarter hour in which they ended; those without any are left out."""
    cards: dict[int, dict[str, int]] = {}
    every = pl.concat([each for _, each in ends])
    sums = every.group_by("bucket_ns", "card").agg(pl.col("requests").sum())
    for at, card, requests in sums.sort("bucket_ns", "card", nulls_last=True).iter_rows():
        cards.setdefault(at, {})[card or NONE] = requests
    return [{"at": instant(at).isoformat(), "requests": own} for at, own in cards.items()]
