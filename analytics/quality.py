"""What a reader must know before trusting a month: counts, and the same in words."""

from collections.abc import Mapping
from typing import Any

import polars as pl

from analytics.day import Day, gaps, joined
from analytics.timeline import PREFILL_ONLY
from analytics.utilization import WINDOW_NS, Peak
from analytics.wording import counted, span
from collector.clock import from_ns as instant
from collector.settings import Settings

HOST = ("host_undeclared_ns", "wall_silent_ns", "wall_constant_ns", "negative_buckets")


def quality(days: list[Day], settings: Settings) -> dict[str, Any]:
    """Counts of what is missing, estimated, impossible or unknown."""
    cells, tallies = joined(days, "cells"), joined(days, "tallies")
    return {
        "missing_usage": int(tallies["missing_usage"].sum()),
        "missing_input": int(tallies["missing_input"].sum()),
        "missing_output": int(tallies["missing_output"].sum()),
        "missing_cached": int(tallies["missing_cached"].sum()),
        "derived_usage": int(tallies["derived_usage"].sum()),
        "estimated_usage": int(tallies["estimated_usage"].sum()),
        "odd_requests": int(tallies["odd"].sum()),
        "uncarded_requests": int(tallies["uncarded"].sum()),
        "unattributed_ns": int(cells["unattributed_ns"].sum()),
        "unknown_ns": int(cells.filter(state="unknown")["ns"].sum()),
        "energy_unknown_ns": int((cells["ns"] - cells["host_off_ns"] - cells["known_ns"]).sum())
        - sum(day.facts["pending_ns"] for day in days),
        "rent_unknown_ns": sum(day.facts["rent_unknown_ns"] for day in days),
        "unmetered_ns": _unmetered_ns(cells) - sum(day.facts["pending_ns"] for day in days),
        "unpriced_energy_uj": int(cells["unpriced_uj"].sum())
        + sum(day.facts["unassigned"]["unpriced_uj"] for day in days),
        **{name: sum(day.facts[name] for day in days) for name in HOST},
        "mixed_ns": int(cells["mixed_ns"].sum()),
        "counter_resets": sum(day.facts["resets"] for day in days),
        "counter_still_ns": sum(day.facts["still_ns"] for day in days),
        "clock_steps": [
            {"at": instant(at).isoformat(), "step_ns": step}
            for day in days
            for at, step in day.facts["clock_steps"]
        ],
        "gaps": [[instant(a).isoformat(), instant(b).isoformat()] for a, b in gaps(days)],
    }


def _unmetered_ns(cells: pl.DataFrame) -> int:
    """Card time of which neither the card nor the wall told the energy; at most, where each told
    a part of a leaf."""
    told = pl.max_horizontal("known_ns", pl.col("wall_ns"))
    up = pl.col("ns") - pl.col("host_off_ns") - told
    return int(cells.select(up.sum()).item())


def at_least(found: Mapping[str, Any], settings: Settings) -> list[str]:
    """Why the cost is only at least what is said; empty where all of it is known."""
    return [text for _, text in _not_known(found, settings)]


def parts_at_least(found: Mapping[str, Any], settings: Settings) -> list[str]:
    """The parts of the cost, `capital` or `energy`, of which not all is known."""
    return sorted({part for part, _ in _not_known(found, settings)})


def _not_known(found: Mapping[str, Any], settings: Settings) -> list[tuple[str, str]]:
    """What is not known of the cost: the part of it, and why."""
    reasons = [
        ("capital", not settings.hardware, "no hardware price is set"),
        ("energy", not settings.electricity, "no electricity price is set"),
        (
            "energy",
            bool(settings.electricity) and found["unpriced_energy_uj"] > 0,
            f"{found['unpriced_energy_uj'] / 3.6e12:,.2f} kWh were drawn at times without an"
            " electricity price",
        ),
        (
            "energy",
            found["unmetered_ns"] > 0,
            f"{span(found['unmetered_ns'])} of card time went without an energy reading",
        ),
        ("energy", found["host_undeclared_ns"] > 0, "host power is not declared"),
        (
            "energy",
            found["wall_silent_ns"] > 0,
            f"the wall was not metered for {span(found['wall_silent_ns'])}",
        ),
        (
            "capital",
            found["rent_unknown_ns"] > 0,
            f"nothing told for {span(found['rent_unknown_ns'])} whether a host that is rented while"
            " up was up",
        ),
    ]
    return [(part, text) for part, holds, text in reasons if holds]


def flags(
    found: Mapping[str, Any],
    reasons: list[str],
    peaks: Mapping[str, Peak],
    throughput: float | None,
    embedding_ns: int,
) -> list[str]:
    """What to doubt, in words, the gravest first."""
    short = [p for p in peaks.values() if p.source == "measured" and p.busy_ns < WINDOW_NS]
    told = [
        (bool(reasons), f"cost is at least what is said: {'; '.join(reasons)}"),
        (
            found["uncarded_requests"] > 0,
            f"{counted(found['uncarded_requests'], 'request')} ran on no card that the settings"
            " name as in service: tokens without cost",
        ),
        (
            found["unknown_ns"] > 0,
            f"{span(found['unknown_ns'])} of card time had no witness: it is booked as unknown",
        ),
        (
            found["missing_output"] > 0,
            f"{counted(found['missing_output'], 'request')} ended without an output count: tokens"
            " are at least what is said",
        ),
        (
            found["missing_input"] > 0,
            f"{counted(found['missing_input'], 'request')} ended without an input count: input"
            " tokens are at least what is said, and no API's bill has these requests",
        ),
        (
            found["missing_cached"] > 0,
            f"{counted(found['missing_cached'], 'request')} did not tell what the cache served:"
            " cached tokens are at least what is said",
        ),
        (
            found["derived_usage"] > 0,
            f"tokens were counted from the streams of {counted(found['derived_usage'], 'request')}",
        ),
        (
            found["estimated_usage"] > 0,
            f"tokens were estimated of {counted(found['estimated_usage'], 'request')}",
        ),
        (
            found["odd_requests"] > 0,
            f"impossible figures came with {counted(found['odd_requests'], 'request')}",
        ),
        (found["counter_resets"] > 0, "an energy counter started anew"),
        (
            found["counter_still_ns"] > 0,
            f"an energy counter stood still for {span(found['counter_still_ns'])} while power was"
            " drawn: the power counts there",
        ),
        (bool(found["clock_steps"]), _clock(found["clock_steps"])),
        (
            found["wall_constant_ns"] > 0,
            f"the wall was not metered for {span(found['wall_constant_ns'])}: the declared host"
            " power counts there",
        ),
        (
            found["negative_buckets"] > 0,
            f"in {counted(found['negative_buckets'], 'quarter hour')} the wall told less than the"
            " cards: is all that they draw behind the meter?",
        ),
        (found["mixed_ns"] > 0, "no idle draw could be measured on some days"),
        (bool(throughput and throughput > 1), "throughput is above the peak: the peak is too low"),
        (
            embedding_ns > 0,
            f"{span(embedding_ns)} of card time went to embeddings, which put out no tokens and"
            " lower the throughput",
        ),
        (bool(short), "a peak rate rests on less than 60 busy seconds"),
    ]
    return [text for holds, text in told if holds]


def refused(conflicts: int | None) -> list[str]:
    """What refused tellings mean for the figures, if there are any."""
    if not conflicts:
        return []
    return [
        f"refused: {counted(conflicts, 'telling')} of an event that had been told with other"
        " content; the first stays"
    ]


def _clock(steps: list[dict[str, Any]]) -> str:
    """What steps of the wall clock mean for the figures."""
    back = sum(-step["step_ns"] for step in steps if step["step_ns"] < 0)
    ahead = sum(step["step_ns"] for step in steps if step["step_ns"] > 0)
    times = "once" if len(steps) == 1 else f"{len(steps)} times"
    told = [
        (back > 0, f"{span(back)} back, and what was told twice is counted once"),
        (ahead > 0, f"{span(ahead)} ahead, and nobody lived through that"),
    ]
    return f"the wall clock was set {times}: {'; '.join(text for holds, text in told if holds)}"


def embedding_ns(days: list[Day]) -> int:
    """Card time of requests that only read."""
    read = joined(days, "work").filter(pl.col("operation").is_in(PREFILL_ONLY))
    return int(read["new_ns"].sum())
