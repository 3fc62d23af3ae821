"""Assets and other costs that contradict themselves: a field that is missing, of another method,
or against the order of time."""

import datetime as dt
from collections.abc import Iterator

from collector.settings_assets import SINCE_EVER, Hardware, OtherCost
from collector.settings_fault import Fault
from collector.settings_types import nano

LARGEST = 4_000_000_000  # of the currency: what is booked at once must fit in 64 bits of nano-units
_BOUGHT = ("price", "residual", "proceeds")
_OF = {
    "straight_line": {*_BOUGHT, "life_years"},
    "declining_balance": {*_BOUGHT, "life_years", "rate_per_year"},
    "market": {"price", "proceeds", "market_values"},
    "rented": {"rate_per_hour", "rate_per_month", "billed"},
}
_NEEDED = {
    "straight_line": ("price", "life_years"),
    "declining_balance": ("price", "life_years"),
    "market": ("price", "market_values"),
    "rented": (),
}
_LIKE = {
    "price": 'add it, like price = "17000"',
    "life_years": "add it, like life_years = 4",
    "market_values": 'add it, like market_values = { 2027-10-01 = "11000" }',
}
_KINDS = ("per_month", "amount", "per_year_of_capital")
Where = tuple[str | int, ...]


def asset_faults(index: int, asset: Hardware) -> Iterator[Fault]:
    """What cannot be in an entry of [[hardware]]."""
    where: Where = ("hardware", index)
    yield from _fields(where, asset)
    if asset.method == "rented":
        yield from _rent(where, asset)
    yield from _values(where, asset)
    yield from _end(where, asset)
    amounts = ("price", "residual", "proceeds", "rate_per_hour", "rate_per_month")
    yield from _too_large(where, {key: getattr(asset, key) for key in amounts})


def other_cost_faults(index: int, cost: OtherCost) -> Iterator[Fault]:
    """What cannot be in an entry of [[other_costs]]."""
    where: Where = ("other_costs", index)
    told = [kind for kind in _KINDS if getattr(cost, kind) is not None]
    if len(told) != 1:
        what = f"has {' and '.join(told)}" if told else "has no amount"
        yield Fault((*where, "name"), f"{cost.name!r} {what}", f"write one of {', '.join(_KINDS)}")
    if cost.amount is not None and cost.from_ == SINCE_EVER:
        yield Fault((*where, "from"), "missing", "add the day on which the amount was paid")
    if cost.amount is not None and cost.until is not None:
        yield Fault((*where, "until"), "an amount is paid once", "leave `until` out")
    if cost.until is not None and cost.until <= cost.from_:
        yield Fault(
            (*where, "until"),
            f"{cost.until} is not after its first day {cost.from_}",
            "write the first day on which it no longer counts",
        )
    yield from _too_large(where, {key: getattr(cost, key) for key in ("per_month", "amount")})


def _fields(where: Where, asset: Hardware) -> Iterator[Fault]:
    """Each method has its own fields, and no others."""
    plain = Hardware(name="", in_service=asset.in_service)
    every = sorted(set().union(*_OF.values()))
    set_ = [key for key in every if getattr(asset, key) != getattr(plain, key)]
    for key in set_:
        if key not in _OF[asset.method]:
            of = " or ".join(f'"{method}"' for method, keys in _OF.items() if key in keys)
            yield Fault(
                (*where, key),
                f'an asset with method "{asset.method}" has no such field',
                f"leave it out, or write method = {of}",
            )
    for key in _NEEDED[asset.method]:
        if key not in set_:
            yield Fault((*where, key), f'missing for method "{asset.method}"', _LIKE[key])


def _rent(where: Where, asset: Hardware) -> Iterator[Fault]:
    if (asset.rate_per_hour is None) == (asset.rate_per_month is None):
        both = "has two rates" if asset.rate_per_hour else "has no rate"
        yield Fault(
            (*where, "rate_per_hour"),
            f"what is rented {both}",
            'write rate_per_hour or rate_per_month, like rate_per_hour = "1.20"',
        )
    elif asset.billed == "while_up" and asset.rate_per_month is not None:
        yield Fault(
            (*where, "billed"),
            "a monthly rent runs whether the host is up or not",
            "leave it out, or write rate_per_hour",
        )


def _values(where: Where, asset: Hardware) -> Iterator[Fault]:
    if asset.residual_nano > asset.price_nano:
        yield Fault(
            (*where, "residual"),
            f"{asset.residual} is above the price {asset.price}",
            "write what it will still be worth at the end of its life",
        )
    if asset.rate_per_year is not None and not nano(asset.rate_per_year):
        yield Fault(
            (*where, "rate_per_year"),
            "at a rate of 0 nothing is written off",
            'write a share, like "0.4", or leave it out for 2 ÷ life',
        )
    for day, value in asset.market_values.items():
        yield from _too_large((*where, "market_values"), {day: value})
        if _date(day) is None:
            yield Fault(
                (*where, "market_values"),
                f"{day!r} is no date",
                'write dates and amounts, like { 2027-10-01 = "11000" }',
            )
        elif dt.date.fromisoformat(day) <= asset.in_service:
            yield Fault(
                (*where, "market_values"),
                f"{day} is not after its first day {asset.in_service}",
                "the value on the first day is the price; leave this one out",
            )


def _end(where: Where, asset: Hardware) -> Iterator[Fault]:
    if asset.retired is None:
        if asset.proceeds_nano:
            yield Fault(
                (*where, "proceeds"),
                "what is still in service has no proceeds",
                "add the day it went, like retired = 2028-03-01, or write `residual`",
            )
    elif asset.retired <= asset.in_service:
        yield Fault(
            (*where, "retired"),
            f"{asset.retired} is not after its first day {asset.in_service}",
            "write the first day on which it is gone",
        )


def _too_large(where: Where, amounts: dict[str, str | None]) -> Iterator[Fault]:
    for key, amount in amounts.items():
        if amount is not None and nano(amount) > nano(str(LARGEST)):
            place = where if where[-1] == "market_values" else (*where, key)
            yield Fault(place, f"{amount} is above {LARGEST:,}", "write a smaller amount")


def _date(text: str) -> dt.date | None:
    try:
        found = dt.date.fromisoformat(text)
    except ValueError:
        return None
    return found if found.isoformat() == text else None
