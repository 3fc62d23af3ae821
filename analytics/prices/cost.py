"""What one request costs on a sheet, worked out plainly, one rule after another.

`analytics.prices.bill` does the same for a column of requests; tests hold the two together.
"""

import datetime as dt
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from math import floor

from analytics.prices.conditions import holds, ratio_of
from analytics.prices.inforce import InForce, in_force, spans
from analytics.prices.sheet import Period, Sheet
from collector.clock import to_ns

MTOK = 1_000_000
NANO = 1_000_000_000

# Why a request has no price, in the order in which it is asked.
NOT_SOLD = "the sheet has no price at this instant"
NO_INPUT = "input tokens are not known"
NO_OUTPUT = "output tokens are not known"
IMPOSSIBLE = "the parts of its tokens exceed their total"
NO_READ = "cached tokens are not known"
NO_WRITE = "tokens written to the cache are not known"
NO_REASONING = "reasoning tokens are not known"
UNPRICED_INPUT = "the sheet has no price for input"
UNPRICED_OUTPUT = "the sheet has no price for output"

# What the sheet does not offer, and how it was charged.
READ_AS_INPUT = "no price for cached input: charged as input"
WRITE_AS_INPUT = "no price for cache writes: charged as input"


@dataclass(frozen=True)
class Usage:
    """Tokens of a request as our own engines count them; None is not known.

    `input_tokens` is the total: cached and written tokens are parts of it, reasoning of the output.
    """

    input_tokens: int | None
    output_tokens: int | None
    cache_read_tokens: int | None = 0
    cache_write_tokens: int | None = 0
    reasoning_tokens: int | None = 0


@dataclass(frozen=True)
class Cost:
    """The exact amount, or why there is none; what was in force and since when.

    `period` is [from, to) in ns, None where open; `overrides` are the names of those that held;
    `notes` tell what the sheet does not offer and how it was charged instead.
    """

    amount: Fraction | None
    currency: str
    why: str | None = None
    period: tuple[int | None, int | None] | None = None
    prices: InForce | None = None
    overrides: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def nano(self) -> int | None:
        """The amount in nano-units of the currency, rounded half up."""
        return None if self.amount is None else floor(self.amount * NANO + Fraction(1, 2))


def cost(
    sheet: Sheet,
    usage: Usage,
    at: dt.datetime,
    terms: Mapping[str, str] | None = None,
    ttl: str = "default",
) -> Cost:
    """The cost of one request at an aware instant, under the terms agreed on, if any.

    `ttl` is the time to live that written input is paid for.
    """
    found = _period_at(sheet, to_ns(at))
    if found is None:
        return Cost(None, sheet.currency, NOT_SOLD)
    start, end, period = found
    tokens = usage.input_tokens
    if tokens is None:
        return Cost(None, sheet.currency, NO_INPUT, (start, end))
    ratio = ratio_of(sheet)
    held = [holds(o.when, at, tokens, ratio, terms or {}) for o in period.overrides]
    prices = in_force(period, held)
    why = next(_faults(usage, prices, ttl), None)
    return Cost(
        amount=None if why else _amount(usage, prices, ttl) * Fraction(*ratio) + _fee(prices),
        currency=sheet.currency,
        why=why,
        period=(start, end),
        prices=prices,
        overrides=tuple(o.name for o, yes in zip(period.overrides, held, strict=True) if yes),
        notes=() if why else tuple(_notes(usage, prices, ttl)),
    )


def _period_at(sheet: Sheet, at_ns: int) -> tuple[int | None, int | None, Period] | None:
    for start, end, period in spans(sheet):
        if (start is None or start <= at_ns) and (end is None or at_ns < end):
            return start, end, period
    return None


def _faults(usage: Usage, prices: InForce, ttl: str) -> Iterator[str]:
    """Why the request cannot be priced. What costs the same as its whole need not be known."""
    if usage.output_tokens is None:
        yield NO_OUTPUT
        return
    read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    fresh = (usage.input_tokens or 0) - read - write
    if min(read, write, fresh) < 0 or not 0 <= (usage.reasoning_tokens or 0) <= usage.output_tokens:
        yield IMPOSSIBLE
    if usage.cache_read_tokens is None and prices.read_charged != prices.input:
        yield NO_READ
    if usage.cache_write_tokens is None and prices.write_charged(ttl) != prices.input:
        yield NO_WRITE
    if usage.reasoning_tokens is None and prices.reasoning_charged != prices.output:
        yield NO_REASONING
    if any(
        tokens and price is None
        for tokens, price in (
            (fresh, prices.input),
            (read, prices.read_charged),
            (write, prices.write_charged(ttl)),
        )
    ):
        yield UNPRICED_INPUT
    reasoning = usage.reasoning_tokens or 0
    if (usage.output_tokens > reasoning and prices.output is None) or (
        reasoning and prices.reasoning_charged is None
    ):
        yield UNPRICED_OUTPUT


def _amount(usage: Usage, prices: InForce, ttl: str) -> Fraction:
    read, write = usage.cache_read_tokens or 0, usage.cache_write_tokens or 0
    reasoning = usage.reasoning_tokens or 0
    parts = (
        ((usage.input_tokens or 0) - read - write, prices.input),
        (read, prices.read_charged),
        (write, prices.write_charged(ttl)),
        ((usage.output_tokens or 0) - reasoning, prices.output),
        (reasoning, prices.reasoning_charged),
    )
    return sum((tokens * Fraction(price or 0) for tokens, price in parts), Fraction(0)) / MTOK


def _fee(prices: InForce) -> Fraction:
    return Fraction(prices.per_request or Decimal(0))


def _notes(usage: Usage, prices: InForce, ttl: str) -> Iterator[str]:
    if usage.cache_read_tokens and prices.cache_read is None:
        yield READ_AS_INPUT
    if usage.cache_write_tokens and prices.write(ttl) is None:
        yield WRITE_AS_INPUT
