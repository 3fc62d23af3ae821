"""A period of the books as one document: what `report --json` prints and pages show."""

from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import Any

import polars as pl

from analytics import concurrency, marginal
from analytics.active_gap import reach_ns, sensitivity
from analytics.calendar_groups import quarters
from analytics.compare import Billed, compare, compared
from analytics.day import Day, joined, spent, unassigned_nano
from analytics.declared import declared as declared_of
from analytics.drawn import carbon_ug, drawn
from analytics.emitted import put_out
from analytics.groups import carried, groups, named
from analytics.identities import check
from analytics.layer_chain import chain
from analytics.machine_groups import machine_groups
from analytics.periods import Period
from analytics.price_bounds import price_bounds
from analytics.quality import at_least, embedding_ns, flags, parts_at_least, quality, refused
from analytics.read import Ledger
from analytics.replay import needed
from analytics.rollup import CATEGORIES, KINDS
from analytics.routing import routing
from analytics.shelf import Progress, Shelf, no_progress
from analytics.states import STATES
from analytics.used_day import used_day
from analytics.utilization import (
    Layers,
    Peak,
    best_peaks,
    layers,
    per_mtok_nano,
    waterfall,
)
from collector.clock import from_ns as instant
from collector.settings import Settings

Tokens = dict[str, int | None]


def month(
    ledger: Ledger,
    settings: Settings,
    period: Period,
    now_ns: int,
    progress: Progress = no_progress,
) -> dict[str, Any]:
    """Account for a period, building first what days are missing or have news.

    Raises BrokenIdentity rather than return books that do not add up; FileNotFoundError where no
    ledger lies.
    """
    return account(Shelf(ledger, settings, now_ns, progress), period)


def account(shelf: Shelf, period: Period, sheets: Sequence[str] | None = None) -> dict[str, Any]:
    """Account for a period from a shelf that is at hand, beside price sheets; by default those of
    the settings."""
    days = shelf.days(period.from_ns, period.to_ns)
    peaks = shelf.peaks(period.to_ns)
    billed = compared(shelf, days, sheets)
    document = summarize(days, peaks, shelf.settings, period, shelf.now_ns, billed=billed)
    damage = [
        each for each in shelf.ledger.damaged() if each.concerns(period.from_ns, period.to_ns)
    ]
    told = document["quality"]
    told["damaged"] = [str(each) for each in damage]
    told["conflicts"] = shelf.ledger.conflicts(period.from_ns, period.to_ns)
    told["flags"] = [*told["damaged"], *refused(told["conflicts"]), *told["flags"]]
    return document


def summarize(
    days: list[Day],
    day_peaks: Iterable[Mapping[str, Peak]],
    settings: Settings,
    period: Period,
    now_ns: int,
    *,
    billed: Sequence[Billed],
) -> dict[str, Any]:
    """The document of a period from its days, the peaks of the 90 days up to its end, and what
    its requests come to elsewhere.

    Every identity has been recomputed on it; raises BrokenIdentity rather than return books that
    do not add up.
    """
    cells, work, tallies = (joined(days, part) for part in ("cells", "work", "tallies"))
    work, tallies = named(work, tallies)
    tokens = _tokens(tallies, cells)
    states_ns, states_cost = _by_state(cells, "ns"), _by_state(cells, "nano")
    unassigned = sum(unassigned_nano(days).values())
    cost = cost_of(cells, days)
    ns = cells.group_by("card", "state").agg(pl.col("ns").sum())
    declared = settings.usage.peak_output_tokens_per_second
    found = best_peaks(sorted(cells["card"].unique()), day_peaks, declared)
    ratios = layers(ns, found, tokens["output"])
    run, run_known = marginal_of(cells)
    shares = carried(work, cells)
    left = _unallocated({**states_cost, "unassigned": unassigned}, shares)
    by_place, exact = machine_groups(days, found, settings)
    steps = waterfall(states_cost, unassigned, ratios.throughput, tokens["output"])
    counted = quality(days, settings)
    reasons = at_least(counted, settings)
    document: dict[str, Any] = {
        "period": {
            "name": period.name,
            "from": instant(period.from_ns).isoformat(),
            "to": instant(period.to_ns).isoformat(),
            "time_zone": settings.rig.time_zone,
            "provisional": now_ns < period.to_ns + reach_ns(settings.usage.active_gap_ns),
        },
        "rig": settings.rig.name,
        "currency": settings.rig.currency,
        "cost_nano": cost,
        "at_least": reasons,
        "parts_at_least": parts_at_least(counted, settings),
        "capacity_ns": int(cells["ns"].sum()),
        "states_ns": states_ns,
        "states_cost_nano": {**states_cost, "unassigned": unassigned},
        "kinds_ns": _by_kind(work, "ns"),
        "kinds_cost_nano": _by_kind(work, "nano"),
        "card_time_ns": _sum(work, "ns"),
        "requests_cost_nano": _sum(work, "nano"),
        "unattributed_cost_nano": int(cells["unattributed_nano"].sum()),
        "unallocated_cost_nano": sum(left.values()),
        "unallocated_by_state_nano": left,
        "marginal_cost_nano": run,
        "marginal_at_least": not run_known,
        "unattributed_marginal_nano": _unattributed_marginal(cells),
        "tokens": tokens,
        "layers": {**_layers(ratios, found), "chain": chain(ratios, steps)},
        "waterfall_nano_per_mtok": steps,
        "cost_per_mtok": _prices(work, tokens, cost["total"], states_cost["busy"], run),
        "energy_uj": drawn(cells, days, counted, settings),
        "carbon_ug": carbon_ug(cells, days),
        "active_gap": sensitivity(
            ns,
            found,
            [day.facts["headroom_ns"] for day in days],
            settings.usage.active_gap_ns,
        ),
        "headroom": {
            "concurrency": concurrency.added(d.facts["concurrency"] for d in days),
            **_headroom(days, settings),
        },
        "groups": {**groups(shares, work, tallies, found), **by_place},
        "last_day": quarters(days[-1]),
        "routing": routing(
            [day.facts["routing"] for day in days], [(day.name, day.ends) for day in days]
        ),
        "quality": counted,
    }
    document["cost_per_mtok_bound"] = price_bounds(document)
    document["compare"] = compare(
        billed, document, used_day(document, ratios, days, settings) if billed else None
    )
    throughput = document["layers"]["throughput"]
    counted["flags"] = flags(counted, reasons, found, throughput, embedding_ns(days))
    whole = ("the period", ratios, tokens["output"])
    beside = declared_of(document, settings, period, now_ns, days)
    check(document, [whole, *exact], _leaves(cells, work), beside)
    return document


def _tokens(tallies: pl.DataFrame, cells: pl.DataFrame) -> Tokens:
    """Sums of what is known, None where no attempt told any. `split_new` and `split_recomputed`
    are the uncached input, `split_output` the output, of the attempts whose time could be split
    into kinds; `emitted` what the cards put out in the period, whenever the attempt ended."""
    columns = {
        "input": "input_tokens",
        "cache_read": "cache_read_tokens",
        "split_new": "split_new",
        "split_recomputed": "split_recomputed",
        "output": "output_tokens",
        "split_output": "split_output",
        "requests": "requests",
        "attempts": "attempts",
        "missing_usage": "missing_usage",
        "missing_input": "missing_input",
        "missing_output": "missing_output",
        "missing_split_input": "missing_split_input",
        "missing_split_output": "missing_split_output",
    }
    told = {name: _known(tallies[column]) for name, column in columns.items()}
    return {**told, "emitted": cells.select(put_out()).item()}


def _known(values: pl.Series) -> int | None:
    """The sum of what is known; None where nothing of it is, 0 where there is nothing."""
    return None if len(values) and values.null_count() == len(values) else int(values.sum())


def _headroom(days: list[Day], settings: Settings) -> dict[str, Any]:
    """The declared target, and the engines that it takes (`replay.needed`)."""
    target = settings.slo.ttft_p95_ms
    if target is None:
        return {"slo": None, "needed": []}
    found = needed([day.facts["replays"] for day in days], target)
    return {"slo": {"ttft_p95_ms": target}, "needed": found}


def _by_state(cells: pl.DataFrame, figure: str) -> dict[str, int]:
    value = spent() if figure == "nano" else pl.col(figure)
    found = dict(cells.group_by("state").agg(value.sum()).iter_rows())
    return {state: found.get(state, 0) for state in STATES}


def cost_of(cells: pl.DataFrame, days: list[Day]) -> dict[str, int]:
    """What days cost in all and by what it was spent on, nano-units; `cells` are theirs."""
    left = unassigned_nano(days)
    cost = {name: int(cells[f"{name}_nano"].sum()) + left[name] for name in CATEGORIES}
    return {"total": sum(cost.values()), **cost}


def _sum(work: pl.DataFrame, figure: str) -> int:
    return sum(int(work[f"{kind}_{figure}"].sum()) for kind in KINDS)


def _by_kind(work: pl.DataFrame, figure: str) -> dict[str, int]:
    return {kind: int(work[f"{kind}_{figure}"].sum()) for kind in KINDS}


def marginal_of(cells: pl.DataFrame) -> tuple[int | None, bool]:
    """Busy energy above idle in money, and whether all busy time was measured. None where none
    was, or where energy has no price or no idle draw to stand above."""
    nano, known_ns, whole_ns = cells.select(marginal.sums()).row(0)
    busy_ns = int(cells.filter(state="busy")["ns"].sum())
    return (nano, whole_ns == busy_ns) if known_ns else (None, False)


def _unattributed_marginal(cells: pl.DataFrame) -> int:
    told = cells.filter(marginal.told())
    return int(told["unattributed_marginal_nano"].sum())


def _unallocated(cost: Mapping[str, int], shares: pl.DataFrame) -> dict[str, int]:
    """What no group carries, by state."""
    carried = {state: int(shares[f"{state}_nano"].sum()) for state in STATES}
    return {state: nano - carried.get(state, 0) for state, nano in cost.items()}


def _prices(
    work: pl.DataFrame, tokens: Tokens, full: int, active: int, marginal: int | None
) -> dict[str, Any]:
    """The three prices over output, over all tokens, and by kind of work (`price_bounds` tells
    what is known of them)."""
    kinds = {kind: int(work[f"{kind}_nano"].sum()) for kind in KINDS}
    totals = {"full": full, "active": active, "marginal": marginal}
    return {name: _price(total, active, kinds, tokens) for name, total in totals.items()}


def _price(total: int | None, busy: int, kinds: dict[str, int], tokens: Tokens) -> dict[str, Any]:
    def per(nano: Fraction | int | None, count: int | None) -> int | None:
        return None if nano is None or not count else per_mtok_nano(nano, count)

    def of(kind: str) -> Fraction | None:
        return None if total is None or not busy else Fraction(kinds[kind] * total, busy)

    return {
        "output": per(total, tokens["output"]),
        "all": per(total, _all(tokens)),
        "by_kind": {
            "new": per(of("new"), tokens["split_new"]),
            "recomputed": per(of("recomputed"), tokens["split_recomputed"]),
            "output": per(of("output"), tokens["split_output"]),
        },
    }


def _all(tokens: Tokens) -> int | None:
    """Tokens in and out; None where either is not known at all."""
    told, put_out = tokens["input"], tokens["output"]
    return None if told is None or put_out is None else told + put_out


def _layers(ratios: Layers, found: dict[str, Peak]) -> dict[str, Any]:
    def told(at_ns: int | None) -> str | None:
        return None if at_ns is None else instant(at_ns).isoformat()

    return {
        **ratios.as_floats(),
        "peak": {
            card: {
                "tokens_per_second": peak.utok_per_s / 1e6,
                "source": peak.source,
                "from": told(peak.from_ns),
                "to": told(peak.to_ns),
                "busy_seconds": peak.busy_ns / 1e9,
            }
            for card, peak in sorted(found.items())
        },
    }


def _leaves(cells: pl.DataFrame, work: pl.DataFrame) -> int:
    """The smallest figure that must not be negative: energy may be paid for, time never is."""
    figures = [cells["ns"].min(), cells["energy_uj"].min(), cells["unattributed_ns"].min()]
    figures += [work[f"{kind}_ns"].min() for kind in KINDS]
    return min((int(figure) for figure in figures if figure is not None), default=0)  # type: ignore[arg-type]
