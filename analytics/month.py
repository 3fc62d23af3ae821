"""A period of the books as one document: what `report --json` prints and pages show."""

from fractions import Fraction
from typing import Any

import polars as pl

from analytics.books import Books, keep_books
from analytics.compare import compare
from analytics.cost import NO_REQUEST, cost_by_state, money_nano
from analytics.groups import groups
from analytics.identities import check
from analytics.intervals import measure, union
from analytics.periods import Period
from analytics.read import Ledger
from analytics.states import STATES
from analytics.utilization import (
    Layers,
    Peak,
    layers,
    peaks,
    per_mtok_nano,
    waterfall,
)
from collector.clock import from_ns as instant
from collector.settings import Settings


def month(ledger: Ledger, settings: Settings, period: Period, now_ns: int) -> dict[str, Any]:
    """Account for a period. Raises BrokenIdentity rather than return books that do not add up."""
    books = keep_books(ledger, settings, period.from_ns, period.to_ns, now_ns)
    return summarize(books, settings, period, now_ns)


def summarize(books: Books, settings: Settings, period: Period, now_ns: int) -> dict[str, Any]:
    """The document of a period from its books; every identity has been recomputed on it."""
    ended = _ended(books)
    tokens = _tokens(ended)
    ns = _ns_by_card(books)
    states_ns = {state: int(ns.filter(state=state)["ns"].sum()) for state in STATES}
    cost = _cost(books)
    states_cost = cost_by_state(books.money)
    unassigned = int(books.unassigned["nano"].sum())
    found = peaks(books.cards, books.rows.filter(pl.col("end_ns") <= books.to_ns), settings)
    ratios = layers(ns, found, tokens["output"])
    marginal = _marginal_nano(books, settings)
    by_group, unallocated = groups(books, ended)
    document = {
        "period": {
            "name": period.name,
            "from": instant(period.from_ns).isoformat(),
            "to": instant(period.to_ns).isoformat(),
            "time_zone": settings.rig.time_zone,
            "provisional": now_ns < period.to_ns + settings.usage.active_gap_ns,
        },
        "rig": settings.rig.name,
        "currency": settings.rig.currency,
        "cost_nano": cost,
        "capacity_ns": int(ns["ns"].sum()),
        "states_ns": states_ns,
        "states_cost_nano": {**states_cost, "unassigned": unassigned},
        "card_time_ns": int(books.leaves.filter(pl.col("request") >= 0)["ns"].sum()),
        "requests_cost_nano": int(books.money.filter(pl.col("request") >= 0)["nano"].sum()),
        "unattributed_cost_nano": _unattributed(books.money, "nano"),
        "unallocated_cost_nano": unallocated,
        "tokens": tokens,
        "layers": _layers(ratios, found),
        "waterfall_nano_per_mtok": waterfall(
            states_cost, unassigned, ratios.throughput, tokens["output"]
        ),
        "cost_per_mtok": _prices(books, tokens, cost["total"], states_cost["busy"], marginal),
        "energy_uj": _energy(books),
        "groups": by_group,
        "compare": compare(
            ended, settings.compare.prices, settings.rig.currency, cost["total"], marginal
        ),
    }
    document["quality"] = _quality(books, ended, document, found)
    check(document, ratios)
    return document


def _ended(books: Books) -> pl.DataFrame:
    """The attempts that ended in the period, one row each."""
    rows = books.rows.unique("request", maintain_order=True)
    return rows.filter(pl.col("end_ns") >= books.from_ns, pl.col("end_ns") < books.to_ns)


def _tokens(ended: pl.DataFrame) -> dict[str, int]:
    """Sums of what is known; `missing_usage` counts the requests that the sums lack."""
    counted = ended.drop_nulls(["input_tokens", "cache_read_tokens"])
    fresh = int((counted["input_tokens"] - counted["cache_read_tokens"]).sum())
    return {
        "input": int(ended["input_tokens"].sum()),
        "cache_read": int(ended["cache_read_tokens"].sum()),
        "new": fresh,
        "output": int(ended["output_tokens"].sum()),
        "requests": len(ended),
        "missing_usage": int(
            (ended["input_tokens"].is_null() | ended["output_tokens"].is_null()).sum()
        ),
    }


def _ns_by_card(books: Books) -> pl.DataFrame:
    return books.leaves.group_by("card", "state").agg(pl.col("ns").sum()).sort("card", "state")


def _cost(books: Books) -> dict[str, int]:
    by = dict(books.money.group_by("category").agg(pl.col("nano").sum()).iter_rows())
    capital = by.get("capital", 0) + int(books.unassigned["nano"].sum())
    energy = by.get("energy", 0)
    return {"total": capital + energy, "capital": capital, "energy": energy}


def _unattributed(frame: pl.DataFrame, column: str) -> int:
    alone = (pl.col("state") == "busy") & (pl.col("request") == NO_REQUEST)
    return int(frame.filter(alone)[column].sum())


def _marginal_nano(books: Books, settings: Settings) -> int | None:
    """The busy energy above the idle draw, in money; None where an idle draw is unknown."""
    if not settings.electricity:
        return None
    busy = books.card_energy.filter(pl.col("state") == "busy")
    if busy["idle_uj"].null_count():
        return None
    above = busy.with_columns(energy_uj=pl.col("energy_uj") - pl.col("idle_uj"))
    return int(above.select(money_nano(pl.col("energy_uj"), settings)).to_series().sum())


def _prices(
    books: Books, tokens: dict[str, int], full: int, active: int, marginal: int | None
) -> dict[str, Any]:
    """The three prices over output, over all tokens, and by kind of work."""
    kinds = dict(
        books.money.filter(pl.col("request") >= 0)
        .group_by("kind")
        .agg(pl.col("nano").sum())
        .iter_rows()
    )
    return {
        "full": _price(full, full, active, kinds, tokens),
        "active": _price(active, active, active, kinds, tokens),
        "marginal": _price(marginal, marginal, active, kinds, tokens),
    }


def _price(
    total: int | None, scaled: int | None, busy: int, kinds: dict[str, int], tokens: dict[str, int]
) -> dict[str, Any]:
    def per(nano: Fraction | int | None, count: int) -> int | None:
        return None if nano is None or not count else per_mtok_nano(round(nano), count)

    def of(kind: str) -> Fraction | None:
        if scaled is None or not busy:
            return None
        return Fraction(kinds.get(kind, 0) * scaled, busy)

    return {
        "output": per(total, tokens["output"]),
        "all": per(total, tokens["input"] + tokens["output"]),
        "by_kind": {
            "new": per(of("new"), tokens["new"]),
            "output": per(of("output"), tokens["output"]),
        },
    }


def _layers(ratios: Layers, found: dict[str, Peak]) -> dict[str, Any]:
    def number(ratio: Fraction | None) -> float | None:
        return None if ratio is None else float(ratio)

    return {
        "hours": number(ratios.hours),
        "occupancy": number(ratios.occupancy),
        "throughput": number(ratios.throughput),
        "peak": {
            card: {
                "tokens_per_second": peak.utok_per_s / 1e6,
                "source": peak.source,
                "from": None if peak.from_ns is None else instant(peak.from_ns).isoformat(),
                "to": None if peak.to_ns is None else instant(peak.to_ns).isoformat(),
                "busy_seconds": peak.busy_ns / 1e9,
            }
            for card, peak in sorted(found.items())
        },
    }


def _energy(books: Books) -> dict[str, int]:
    """µJ at the cards and beyond them, before the power supply; and the time without a reading."""
    off = int(books.leaves.filter(state="off")["ns"].sum())
    known = int(books.card_energy.filter(pl.col("state") != "off")["ns"].sum())
    quiet = books.card_energy.filter(pl.col("state").is_in(["stranded", "headroom", "idle"]))
    return {
        "cards": int(books.card_energy["energy_uj"].sum()),
        "host": int(books.host_energy["energy_uj"].sum()),
        "idle_draw": int(quiet["energy_uj"].sum()),
        "unknown_ns": int(books.leaves["ns"].sum()) - off - known,
    }


def _quality(
    books: Books, ended: pl.DataFrame, document: dict[str, Any], found: dict[str, Peak]
) -> dict[str, Any]:
    odd = ended.filter(
        (pl.col("cache_read_tokens") > pl.col("input_tokens"))
        | (pl.col("first_token_ns") > pl.col("end_ns"))
    )
    unknown = books.states.filter(state="unknown")
    gaps = union(unknown["start_ns"].to_numpy(), unknown["end_ns"].to_numpy())
    quality = {
        "missing_usage": document["tokens"]["missing_usage"],
        "missing_cached": int(ended["cache_read_tokens"].null_count()),
        "derived_usage": int((ended["usage_source"] == "derived").sum()),
        "unattributed_ns": _unattributed(books.leaves, "ns"),
        "unknown_ns": document["states_ns"]["unknown"],
        "energy_unknown_ns": document["energy_uj"]["unknown_ns"],
        "mixed_ns": int(books.card_energy["mixed_ns"].sum()),
        "counter_resets": books.resets,
        "odd_requests": len(odd),
        "gaps": [[instant(int(a)).isoformat(), instant(int(b)).isoformat()] for a, b in gaps],
    }
    quality["flags"] = _flags(document, quality, found, measure(gaps))
    return quality


def _flags(
    document: dict[str, Any], quality: dict[str, Any], found: dict[str, Peak], gap_ns: int
) -> list[str]:
    """What a reader must know before trusting the figures, in words."""
    throughput = document["layers"]["throughput"]
    told = [
        (gap_ns > 0, f"nobody watched for {_span(gap_ns)}: that time is booked as unknown"),
        (
            quality["energy_unknown_ns"] > 0,
            f"energy is at least: {_span(quality['energy_unknown_ns'])} of card time went without"
            " a reading",
        ),
        (
            quality["missing_usage"] > 0,
            f"{quality['missing_usage']} requests ended without token counts: tokens are at least,"
            " prices at most",
        ),
        (quality["odd_requests"] > 0, f"{quality['odd_requests']} requests tell impossible counts"),
        (quality["counter_resets"] > 0, "an energy counter started anew"),
        (quality["mixed_ns"] > 0, "no idle draw could be measured on some days"),
        (bool(throughput and throughput > 1), "throughput above the peak: the peak is too low"),
        (
            any(0 < peak.busy_ns < 60e9 for peak in found.values()),
            "a peak rate rests on less than 60 busy seconds",
        ),
    ]
    return [text for holds, text in told if holds]


def _span(ns: int) -> str:
    """A length of time in the largest unit that it fills."""
    for unit, name in ((3_600, "h"), (60, "min")):
        if ns >= unit * 10**9:
            return f"{ns / unit / 1e9:,.1f} {name}"
    return f"{ns / 1e9:,.1f} s"
