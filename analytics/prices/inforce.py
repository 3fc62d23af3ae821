"""The prices in force: a period's own, changed by the overrides that hold."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal

from analytics.prices.sheet import Override, Period, Prices, Sheet
from collector.clock import to_ns


@dataclass(frozen=True)
class InForce:
    """Prices per million tokens, `per_request` each; None where the sheet has none."""

    input: Decimal | None
    cache_read: Decimal | None
    cache_write: dict[str, Decimal]
    output: Decimal | None
    reasoning: Decimal | None
    per_request: Decimal | None

    def write(self, ttl: str) -> Decimal | None:
        """The price of written input for a time to live, else the default one's."""
        return self.cache_write.get(ttl, self.cache_write.get("default"))

    @property
    def read_charged(self) -> Decimal | None:
        """What cached input is charged: its own price, else that of input."""
        return self.input if self.cache_read is None else self.cache_read

    def write_charged(self, ttl: str) -> Decimal | None:
        """What written input is charged: its own price, else that of input."""
        price = self.write(ttl)
        return self.input if price is None else price

    @property
    def reasoning_charged(self) -> Decimal | None:
        """What reasoning is charged: its own price, else that of output."""
        return self.output if self.reasoning is None else self.reasoning


def spans(sheet: Sheet) -> Iterator[tuple[int | None, int | None, Period]]:
    """Each period between its instants, ns since the epoch; None where it is open."""
    starts = [None if p.from_ is None else to_ns(p.from_) for p in sheet.periods]
    for period, start, following in zip(sheet.periods, starts, [*starts[1:], None], strict=True):
        own = None if period.to is None else to_ns(period.to)
        yield start, own if own is not None else following, period


def in_force(period: Period, held: Sequence[bool]) -> InForce:
    """The prices when of the period's overrides exactly those of `held` hold."""
    prices = _of(period)
    for override, holds in zip(period.overrides, held, strict=True):
        if holds:
            prices = _changed(prices, override)
    return InForce(
        input=prices.get("input"),
        cache_read=prices.get("cache_read"),
        cache_write={
            name.partition(".")[2]: price
            for name, price in prices.items()
            if name.startswith("cache_write.")
        },
        output=prices.get("output"),
        reasoning=prices.get("reasoning"),
        per_request=prices.get("per_request"),
    )


def _of(prices: Prices) -> dict[str, Decimal]:
    """The prices that are there, by name; those of writing as `cache_write.TTL`."""
    names = ("input", "cache_read", "output", "reasoning", "per_request")
    flat = {name: getattr(prices, name) for name in names}
    flat |= {f"cache_write.{ttl}": price for ttl, price in prices.cache_write.items()}
    return {name: Decimal(price) for name, price in flat.items() if price is not None}


def _changed(prices: dict[str, Decimal], override: Override) -> dict[str, Decimal]:
    changed = prices | _of(override.set)
    for rate, factor in override.multiply.items():
        for name in changed:
            if rate in ("*", name.partition(".")[0]):
                changed[name] *= Decimal(factor)
    return changed
