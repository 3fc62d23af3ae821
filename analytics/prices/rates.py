"""From one currency to another, at the rate declared for the instant.

`[currencies]` gives each rate from a day on, at midnight in the rig's zone. A pair that is declared
the other way round is turned over, exactly.
"""

import datetime as dt
from fractions import Fraction
from typing import NamedTuple

import polars as pl

from collector.settings import Settings


class NoRate(LookupError):
    """No rate is declared for this pair and instant; the message says what to add."""


class Rate(NamedTuple):
    """What one unit of `source` is worth in `target`, from `from_ns` on; `None` since ever."""

    source: str
    target: str
    rate: Fraction
    from_: dt.date | None
    from_ns: int | None


def rates(settings: Settings, source: str, target: str) -> list[Rate]:
    """Every declared rate of a pair, the oldest first; empty where there is none."""
    if source == target:
        return [Rate(source, target, Fraction(1), None, None)]
    for pair, turned in ((f"{source}/{target}", False), (f"{target}/{source}", True)):
        found = settings.currencies.get(pair)
        if found:
            return sorted(
                (
                    Rate(
                        source,
                        target,
                        1 / Fraction(entry.rate) if turned else Fraction(entry.rate),
                        entry.from_,
                        settings.midnight_ns(entry.from_),
                    )
                    for entry in found
                ),
                key=lambda rate: rate.from_ns or 0,
            )
    return []


def rate_at(settings: Settings, source: str, target: str, at_ns: int) -> Rate:
    """The rate in force at an instant, ns since the epoch. Raises NoRate."""
    declared = rates(settings, source, target)
    begun = [rate for rate in declared if rate.from_ns is None or rate.from_ns <= at_ns]
    if begun:
        return begun[-1]
    if declared:
        raise NoRate(
            f'the first rate of "{source}/{target}" counts from {declared[0].from_}; '
            "add an earlier one to [currencies]"
        )
    raise NoRate(
        f"no rate from {source} to {target} is declared; add it to [currencies], like "
        f'"{source}/{target}" = [{{from = 2026-10-01, rate = "…"}}]'
    )


def convert(nano: int, source: str, target: str, at_ns: int, settings: Settings) -> int:
    """An amount in nano-units of `target`, rounded half up once. Raises NoRate."""
    rate = rate_at(settings, source, target, at_ns).rate
    return _half_up(nano * rate.numerator, rate.denominator)


def _half_up(product: int, divisor: int) -> int:
    return (2 * product + divisor) // (2 * divisor)


def convert_each(amounts: pl.DataFrame, source: str, target: str, settings: Settings) -> pl.Series:
    """A column of amounts, each at the rate of its own instant and rounded half up once.

    `amounts` has `received_ns` and `nano`. Returns Int64 nano-units of `target`, null where the
    amount is null or no rate is declared yet.
    """
    answer = pl.lit(None, dtype=pl.Int128)
    for rate in rates(settings, source, target):
        number, divisor = (
            pl.lit(part, dtype=pl.Int128) for part in (rate.rate.numerator, rate.rate.denominator)
        )
        product = pl.col("nano").cast(pl.Int128) * number
        converted = (2 * product + divisor) // (2 * divisor)
        begun = pl.lit(True) if rate.from_ns is None else pl.col("received_ns") >= rate.from_ns
        answer = pl.when(begun).then(converted).otherwise(answer)
    return amounts.with_columns(nano=answer.cast(pl.Int64))["nano"]
