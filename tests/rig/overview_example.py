"""A month by hand: three cards in Los Angeles, November 2026 until the 29th, 14:20.

Every identity of a real month holds: states sum to capacity, costs to the total, the waterfall
to the full price, the strips to the day's capacity.
"""

import datetime as dt
from typing import Any

import polars as pl

from analytics.overview import Overview
from collector.clock import from_ns

NANO = 1_000_000_000
HOUR = 3600 * NANO
QUARTER = HOUR // 4
ZONE = "America/Los_Angeles"
CARDS = ("GPU-a", "GPU-b", "GPU-c")
OUTPUT = 78_240_000
DAY_NS = int(dt.datetime(2026, 11, 29, 8, tzinfo=dt.UTC).timestamp()) * NANO
NOW_NS = DAY_NS + 14 * HOUR + 20 * HOUR // 60

STATES_NS = {
    "busy": 96 * HOUR,
    "stranded": 3 * HOUR + HOUR // 5,
    "headroom": 71 * HOUR,
    "idle": 1771 * HOUR + HOUR * 4 // 5,
    "other": 8 * HOUR,
    "off": 110 * HOUR,
    "unknown": 2 * HOUR,
}
CAPITAL = 332_866_450_031
ENERGY = {
    "busy": 10_400_000_007,
    "stranded": 21_000_000,
    "headroom": 520_000_000,
    "idle": 5_410_000_001,
    "other": 480_000_000,
    "off": 0,
    "unknown": 0,
}


def spread(total: int, weights: list[int]) -> list[int]:
    """Split by weight, largest remainder: the parts sum to the total."""
    whole = sum(weights)
    out = [total * weight // whole for weight in weights]
    rest = sorted(range(len(weights)), key=lambda i: -(total * weights[i] % whole))
    for i in rest[: total - sum(out)]:
        out[i] += 1
    return out


def month(**changes: Any) -> dict[str, Any]:
    """The month as `report --json` tells it; keyword arguments replace top-level keys."""
    capacity = sum(STATES_NS.values())
    capital = dict(zip(STATES_NS, spread(CAPITAL, list(STATES_NS.values())), strict=True))
    cost = {state: capital[state] + ENERGY[state] for state in STATES_NS}
    total = sum(cost.values())
    at_peak = cost["busy"] * 62 // 100
    steps = {
        "at_peak": at_peak,
        "below_peak": cost["busy"] - at_peak,
        **{s: cost[s] for s in ("stranded", "headroom", "idle", "off", "other", "unknown")},
        "unassigned": 0,
    }
    full = total * 1_000_000 // OUTPUT
    per_mtok = spread(full, list(steps.values()))
    active = STATES_NS["busy"] + STATES_NS["stranded"] + STATES_NS["headroom"]
    unattributed = 21_000_003
    peak = {
        "tokens_per_second": 365.0,
        "from": "2026-11-17T03:02:00Z",
        "to": "2026-11-17T03:19:00Z",
        "busy_seconds": 60.0,
        "source": "measured",
    }
    busy_price = cost["busy"] * 1_000_000 // OUTPUT
    bill = 72_763_200_000
    told: dict[str, Any] = {
        "period": {
            "name": "2026-11",
            "from": "2026-11-01T07:00:00+00:00",
            "to": "2026-12-01T08:00:00+00:00",
            "time_zone": ZONE,
            "provisional": True,
        },
        "rig": "desk",
        "currency": "USD",
        "cost_nano": {
            "total": total,
            "capital": CAPITAL,
            "energy": sum(ENERGY.values()),
            "other": 0,
        },
        "capacity_ns": capacity,
        "states_ns": dict(STATES_NS),
        "states_cost_nano": {**cost, "unassigned": 0},
        "requests_cost_nano": cost["busy"] - unattributed,
        "unattributed_cost_nano": unattributed,
        "tokens": {
            "input": 1_214_000_000,
            "cache_read": 1_002_000_000,
            "output": OUTPUT,
            "requests": 41_207,
            "missing_usage": 12,
        },
        "layers": {
            "hours": active / capacity,
            "occupancy": STATES_NS["busy"] / active,
            "throughput": OUTPUT / (365.0 * STATES_NS["busy"] / NANO),
            "peak": {card: dict(peak) for card in CARDS},
        },
        "waterfall_nano_per_mtok": [
            {"step": step, "nano_per_mtok": nano}
            for step, nano in zip(steps, per_mtok, strict=True)
        ],
        "cost_per_mtok": {
            "full": {"output": full, "all": total * 1_000_000 // 1_292_240_000, "by_kind": None},
            "active": {"output": busy_price, "all": None, "by_kind": None},
            "marginal": {"output": 112_345_678, "all": None, "by_kind": None},
        },
        "energy_uj": {
            "cards": 201_000_000_000_000,
            "host": 90_000_000_000_000,
            "unassigned": 0,
            "wall": None,
            "metered": None,
            "idle_draw": 61_000_000_000_000,
            "unknown_ns": 2 * HOUR,
        },
        "groups": {
            "model": _groups(
                total, cost["busy"], {"qwen3.8-27b": (70, 38_104), "gemma-4-12b": (30, 3_103)}
            ),
            "project": _groups(
                total,
                cost["busy"],
                {"agent-x": (55, 21_800), "notes": (30, 14_002), "(none)": (15, 5_405)},
            ),
            "session": _groups(
                total, cost["busy"], {f"k1:a{i:02d}": (5, 2_060) for i in range(20)}
            ),
        },
        "routing": {"herding": {"threshold_ns": 10 * NANO, "episodes": [episode()]}},
        "compare": [
            {
                "sheet": "DeepSeek V4.1-Flash, off-peak",
                "currency": "USD",
                "no_cache_nano": 229_044_000_000,
                "same_hits_nano": bill,
                "simulated_nano": None,
                "scenario": "same_hits",
                "headline_nano": bill,
                "headline_nano_per_mtok": bill * 1_000_000 // OUTPUT,
                "priced_requests": 41_195,
                "unpriced_requests": 12,
                "break_even": {"verdict": "never", "hours_per_day": None},
                "unpriced": [{"why": "output tokens are not known", "requests": 12}],
                "output_only_nano_per_mtok": 600_000_000,
                "savings_full_nano": bill - total,
                "savings_full_bound": "at least",
                "savings_marginal_nano": 63_973_374_155,
                "savings_marginal_bound": "at least",
            }
        ],
        "quality": {
            "missing_usage": 12,
            "missing_cached": 340,
            "derived_usage": 0,
            "unattributed_ns": 7 * 60 * NANO,
            "energy_unknown_ns": 2 * HOUR,
            "unknown_ns": STATES_NS["unknown"],
            "flags": [
                "nobody watched for 0.5 h: that time is booked as unknown",
                "12 requests ended without token counts: tokens are at least, prices at most",
            ],
        },
    }
    return told | changes


def episode(start_ns: int = DAY_NS + 14 * HOUR, cost_nano: int = 80_000_000) -> dict[str, Any]:
    """A quarter of an hour in which one card computed and queued, and two stood by."""
    return {
        "from": from_ns(start_ns).isoformat(),
        "to": from_ns(start_ns + QUARTER).isoformat(),
        "queued": ["GPU-a"],
        "stood_by": ["GPU-b", "GPU-c"],
        "stranded_ns": 2 * QUARTER,
        "cost_nano": cost_nano,
    }


def _groups(total: int, busy: int, sizes: dict[str, tuple[int, int]]) -> list[dict[str, Any]]:
    weights = [weight for weight, _ in sizes.values()]
    shares = zip(
        sizes, spread(OUTPUT, weights), spread(busy, weights), spread(total, weights), strict=True
    )
    return [
        {
            "name": name,
            "requests": sizes[name][1],
            "output_tokens": output,
            "busy_cost_nano": busy_cost,
            "full_cost_nano": full_cost,
        }
        for name, output, busy_cost, full_cost in shares
    ]


def strips() -> pl.DataFrame:
    """The day so far, per card, 15-minute bucket and state."""
    rows = []
    for number, card in enumerate(CARDS):
        for quarter in range((NOW_NS - DAY_NS + QUARTER - 1) // QUARTER):
            start = DAY_NS + quarter * QUARTER
            length = min(QUARTER, NOW_NS - start)
            for state, part in _quarter(number, quarter, length).items():
                cost = part * 160_000_000 // HOUR
                rows.append((card, start, state, part, cost))
    names = ["card", "bucket_ns", "state", "ns", "cost_nano"]
    return pl.DataFrame(rows, schema=names, orient="row")


def _quarter(card: int, quarter: int, length: int) -> dict[str, int]:
    if 8 <= quarter < 12:
        return {"off": length}
    if card == 2 and quarter in (30, 31):
        return {"unknown": length}
    if quarter in (22, 23) and card == 0:
        return {"other": length}
    if quarter == 56:
        return {"busy": length} if card == 0 else {"stranded": length}
    if 36 <= quarter < 44 or quarter >= 52:
        busy = length * ((quarter * 37 + card * 53) % 90 + 8) // 100
        return {"busy": busy, "headroom": length - busy}
    return {"idle": length}


def trend() -> list[dict[str, Any]]:
    """Two months with data."""
    full = month()["cost_per_mtok"]["full"]["output"]
    name = month()["compare"][0]["sheet"]
    return [
        {
            "month": "2026-10",
            "full_nano_per_mtok": 5_912_000_000,
            "compare": {name: 951_000_000},
            "provisional": False,
        },
        {
            "month": "2026-11",
            "full_nano_per_mtok": full,
            "compare": {name: 72_763_200_000 * 1_000_000 // OUTPUT},
            "provisional": True,
        },
    ]


def overview(**month_changes: Any) -> Overview:
    """The whole, as the page receives it."""
    return Overview(
        month=month(**month_changes),
        strips=strips(),
        strips_day="2026-11-29",
    )
