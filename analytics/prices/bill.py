"""The bill of a sheet for a column of requests: exact, rounded once per request.

Requests that meet the same prices are charged together; there are few such groups, however many
requests. Prices are integers of a millionth of a millionth per million tokens, amounts 128 bits.
"""

from collections.abc import Iterator, Mapping
from decimal import Decimal
from typing import NamedTuple

import polars as pl

from analytics.prices import cost
from analytics.prices.conditions import holding, ratio_of
from analytics.prices.inforce import InForce, in_force, spans
from analytics.prices.sheet import Period, Sheet
from collector.clock import from_ns

PRICE_UNITS = 10**12
# From a price unit per million tokens, times a ratio in ten-thousandths, to nano-units.
DIVISOR = PRICE_UNITS * 10_000 * cost.MTOK // cost.NANO
TOKENS = ("input_tokens", "output_tokens")
PARTS = ("cache_read_tokens", "cache_write_tokens", "reasoning_tokens")
ANSWER = ("nano", "why", "note")


class _Bought(NamedTuple):
    """How the requests are bought: terms, time to live of written input, ratio of tokens."""

    terms: Mapping[str, str]
    ttl: str
    ratio: tuple[int, int]


def bill(
    requests: pl.DataFrame,
    sheet: Sheet,
    *,
    terms: Mapping[str, str] | None = None,
    ttl: str = "default",
) -> pl.DataFrame:
    """What each request costs on the sheet, one row per request, in order.

    `requests` has `received_ns`, the instant that prices it, `input_tokens` in total and
    `output_tokens`; `cache_read_tokens`, `cache_write_tokens` and `reasoning_tokens` are parts of
    these, zero where there is no such column, unknown where null.

    Returns `nano`, Int64 nano-units of the sheet's currency, or null with `why`; `note` says what
    the sheet does not offer and how it was charged instead.
    """
    asked = requests.select("received_ns", *TOKENS).with_row_index("_row")
    asked = asked.with_columns(
        pl.lit(0).alias(name) if name not in requests.columns else requests[name] for name in PARTS
    ).with_columns(pl.col(*TOKENS, *PARTS).cast(pl.Int64))
    bought = _Bought(terms or {}, ttl, ratio_of(sheet))
    sold = [(_between(start, end), period) for start, end, period in spans(sheet)]
    priced = [
        part for when, period in sold for part in _of_period(asked.filter(when), period, bought)
    ]
    unsold = asked.filter(~pl.any_horizontal(when for when, _ in sold)).select(
        "_row",
        nano=pl.lit(None, dtype=pl.Int64),
        why=pl.lit(cost.NOT_SOLD),
        note=pl.lit(None, dtype=pl.String),
    )
    return pl.concat([unsold, *priced]).sort("_row").select(ANSWER)


def _years(instants: pl.Series) -> range:
    """The years that local days of the instants can lie in."""
    first, last = (from_ns(int(ns)) for ns in (instants.min(), instants.max()))  # type: ignore[arg-type]
    return range(first.year - 1, last.year + 2)


def _between(start: int | None, end: int | None) -> pl.Expr:
    at = pl.col("received_ns")
    since = pl.lit(True) if start is None else at >= start
    return since if end is None else since & (at < end)


def _of_period(asked: pl.DataFrame, period: Period, bought: _Bought) -> Iterator[pl.DataFrame]:
    """The requests of a period, charged group by group of overrides that hold together."""
    if asked.is_empty():
        return
    years = _years(asked["received_ns"])
    held = [
        holding(override.when, years, bought.ratio, bought.terms).fill_null(False).alias(f"_{n}")
        for n, override in enumerate(period.overrides)
    ]
    if not held:
        yield _charged(asked, in_force(period, ()), bought)
        return
    for key, group in asked.with_columns(held).group_by(f"_{n}" for n in range(len(held))):
        yield _charged(group, in_force(period, [bool(mark) for mark in key]), bought)


def _charged(asked: pl.DataFrame, prices: InForce, bought: _Bought) -> pl.DataFrame:
    """Rows with `_row` and the answer, all at the same prices."""
    ttl, ratio_e4 = bought.ttl, bought.ratio[0]
    read, write, reasoning = (pl.col(name).fill_null(0) for name in PARTS)
    fresh = pl.col("input_tokens") - read - write
    plain = pl.col("output_tokens") - reasoning
    charges = [
        (fresh, prices.input),
        (read, prices.read_charged),
        (write, prices.write_charged(ttl)),
        (plain, prices.output),
        (reasoning, prices.reasoning_charged),
    ]
    amount = pl.sum_horizontal(
        tokens.cast(pl.Int128) * pl.lit(_units(price) * ratio_e4, dtype=pl.Int128)
        for tokens, price in charges
    )
    fee = _units(prices.per_request) * (10_000 * cost.MTOK)
    nano = (amount + pl.lit(fee + DIVISOR // 2, dtype=pl.Int128)) // pl.lit(
        DIVISOR, dtype=pl.Int128
    )
    return asked.with_columns(why=_why(charges, prices, ttl)).select(
        "_row",
        nano=pl.when(pl.col("why").is_null()).then(nano).cast(pl.Int64),
        why="why",
        note=pl.when(pl.col("why").is_null()).then(_note(read, write, prices, ttl)),
    )


def _units(price: Decimal | None) -> int:
    """A price in integer units; exact, since sheets with finer prices are refused."""
    units = (price or Decimal(0)) * PRICE_UNITS
    if units != int(units):
        raise ValueError(f"a price of {price} is finer than 12 decimals")
    return int(units)


def _why(charges: list[tuple[pl.Expr, Decimal | None]], prices: InForce, ttl: str) -> pl.Expr:
    """Why a request cannot be priced, in the order of `analytics.prices.cost`."""
    (fresh, _), (read, _), (write, _), (plain, _), (reasoning, _) = charges
    read_known, write_known, reasoning_known = (pl.col(name).is_not_null() for name in PARTS)
    faults = [
        (pl.col("input_tokens").is_null(), cost.NO_INPUT),
        (pl.col("output_tokens").is_null(), cost.NO_OUTPUT),
        (pl.min_horizontal(fresh, read, write, plain, reasoning) < 0, cost.IMPOSSIBLE),
        (~read_known & (prices.read_charged != prices.input), cost.NO_READ),
        (~write_known & (prices.write_charged(ttl) != prices.input), cost.NO_WRITE),
        (~reasoning_known & (prices.reasoning_charged != prices.output), cost.NO_REASONING),
        (_unpriced(charges[:3]), cost.UNPRICED_INPUT),
        (_unpriced(charges[3:]), cost.UNPRICED_OUTPUT),
    ]
    return pl.coalesce(
        *(pl.when(fault).then(pl.lit(sentence)) for fault, sentence in faults),
        pl.lit(None, dtype=pl.String),
    )


def _unpriced(charges: list[tuple[pl.Expr, Decimal | None]]) -> pl.Expr:
    return pl.any_horizontal(
        pl.lit(False), *(tokens > 0 for tokens, price in charges if price is None)
    )


def _note(read: pl.Expr, write: pl.Expr, prices: InForce, ttl: str) -> pl.Expr:
    notes = []
    if prices.cache_read is None:
        notes.append(pl.when(read > 0).then(pl.lit(cost.READ_AS_INPUT)))
    if prices.write(ttl) is None:
        notes.append(pl.when(write > 0).then(pl.lit(cost.WRITE_AS_INPUT)))
    if not notes:
        return pl.lit(None, dtype=pl.String)
    joined = pl.concat_str(*notes, separator="; ", ignore_nulls=True)
    return pl.when(joined != "").then(joined)
