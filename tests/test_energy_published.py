"""Energy against published measurements: joules per token, and a recorded power log."""

import csv
from collections.abc import Iterator
from fractions import Fraction
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from rig.ledger import SECOND, START, attempt, heartbeats, ledger, sample, settings
from rig.shared import recorded

from analytics.books import keep_books
from analytics.month import month
from analytics.periods import Period
from collector.clock import from_ns
from collector.events import Event, Sample

HOUR_S = 3600
HOUR = Period("hour", START, START + HOUR_S * SECOND)
LATER = START + 10 * HOUR_S * SECOND


def rows(file: str) -> list[dict[str, str]]:
    lines = [line for line in recorded(file).read_text().splitlines() if not line.startswith("#")]
    return list(csv.DictReader(lines))


def published() -> Iterator[tuple[str, Fraction, Fraction]]:
    """(name, W, output tokens per second) of each measurement of a generating card or machine."""
    for row in rows("club3090-power/power-cap-5090-gemma4.csv"):
        for text in ("narr", "code"):
            yield (
                f"{row['cap_w']} W {text}",
                Fraction(row["actual_w"]),
                Fraction(row[f"{text}_tps"]),
            )
    for row in rows("club3090-power/freq-cap-5090-gemma4.csv"):
        yield f"{row['gpu_mhz']} MHz", Fraction(row["actual_w"]), Fraction(row["narr_tps"])
    for row in rows("published-tables/mlperf_v5.1_power.csv"):
        if row["perf_units"] == "Tokens/s" and row["power_units"] == "Watts":
            watts = Fraction(row["power_or_energy"]) / int(row["n"])
            yield row["model"], watts, Fraction(row["perf"]) / int(row["n"])


def hour_of(cards: list[str], watts: list[Fraction], rates: list[Fraction]) -> Iterator[Event]:
    """Each card at work for an hour at its watts and rate, read every 60 s."""
    for card, draw, rate in zip(cards, watts, rates, strict=True):
        yield attempt(f"r-{card}", 0, HOUR_S, card, ttft_ns=0, output_tokens=round(rate * HOUR_S))
        for second in range(0, HOUR_S + 60, 60):
            counted = round(draw * second * 10**6)
            yield sample(card, second, power_mw=round(draw * 1000), energy_uj_total=counted)


def test_joules_per_token_are_watts_by_tokens_per_second(tmp_path: Path) -> None:
    """The books' energy of each card over its output tokens, through the whole pipeline."""
    told = list(published())
    assert len(told) > 70
    cards = [f"{n:03}" for n in range(len(told))]
    events = list(hour_of(cards, [watts for _, watts, _ in told], [rate for _, _, rate in told]))
    kept = ledger(tmp_path / "ledger", events)
    document = month(kept, settings(*cards), HOUR, LATER)
    assert document["energy_uj"]["unknown_ns"] == 0
    assert document["energy_uj"]["cards"] == sum(round(w * HOUR_S * 10**6) for _, w, _ in told)
    books = keep_books(kept, settings(*cards), HOUR.from_ns, HOUR.to_ns, LATER)
    drawn = books.card_energy.group_by("card").agg(pl.col("energy_uj").sum())
    energy_uj = dict(drawn.iter_rows())
    tokens = {each["name"]: each["emitted_tokens"] for each in document["groups"]["card"]}
    for card, (name, watts, rate) in zip(cards, told, strict=True):
        joules = energy_uj[card] / 10**6 / tokens[card]
        # Whole tokens: an hour at the slowest rate has 99,540 of them.
        assert joules == pytest.approx(float(watts / rate), rel=1e-5), name


# -- a power log of two cards


def log() -> dict[str, list[tuple[float, float]]]:
    """By card (seconds since the log's beginning, W), as recorded."""
    found: dict[str, list[tuple[float, float]]] = {}
    for row in rows("club3090-power/gpu_monitor_2x3090.csv"):
        found.setdefault(row["index"], []).append((float(row["ts"]), float(row["power_w"])))
    first = min(own[0][0] for own in found.values())
    return {card: [(at - first, watts) for at, watts in own] for card, own in found.items()}


def samples(readings: dict[str, list[tuple[float, float]]]) -> list[Event]:
    return [
        Sample(
            source="nvml", event_id=f"{card}-{at}", rig="desk", device=card, scope="card",
            sensor="test", at=from_ns(START + round(at * 1000) * 1_000_000),
            power_mw=round(watts * 1000),
        )
        for card, own in readings.items()
        for at, watts in own
    ]  # fmt: skip


def book(path: Path, readings: dict[str, list[tuple[float, float]]]) -> dict[str, Any]:
    end = max(own[-1][0] for own in readings.values())
    events = [*samples(readings), *heartbeats(0, end + 30, [f"on-{card}" for card in readings])]
    return month(ledger(path, events), settings(*readings), HOUR, LATER)


def trapezoid(own: list[tuple[float, float]]) -> float:
    return sum((b - a) * (v + w) / 2 for (a, v), (b, w) in pairwise(own))


def test_a_power_log_at_half_the_cadence_holds_the_same_energy(tmp_path: Path) -> None:
    whole = log()
    # Both ends stay, so that both logs cover the same time.
    half = {card: [*own[:-1:2], own[-1]] for card, own in whole.items()}
    told, thinned = book(tmp_path / "whole", whole), book(tmp_path / "half", half)
    expected = sum(trapezoid(own) for own in whole.values()) * 10**6
    assert told["energy_uj"]["cards"] == pytest.approx(expected, rel=1e-6)
    assert thinned["energy_uj"]["cards"] == pytest.approx(told["energy_uj"]["cards"], rel=0.003)


def test_a_block_that_is_missing_is_unknown_time(tmp_path: Path) -> None:
    whole = log()
    count = min(len(own) for own in whole.values())
    cut = {card: own[: count // 3] + own[count // 2 :] for card, own in whole.items()}
    lost = {card: own[count // 3 - 1 : count // 2 + 1] for card, own in whole.items()}
    told, holed = book(tmp_path / "whole", whole), book(tmp_path / "holed", cut)
    length = sum(own[-1][0] - own[0][0] for own in lost.values())
    more = holed["energy_uj"]["unknown_ns"] - told["energy_uj"]["unknown_ns"]
    assert more == pytest.approx(length * 1e9, rel=1e-6)
    missing = sum(trapezoid(own) for own in lost.values()) * 10**6
    expected = told["energy_uj"]["cards"] - missing
    assert holed["energy_uj"]["cards"] == pytest.approx(expected, rel=1e-6)
