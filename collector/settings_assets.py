"""What the rig costs beside its electricity: assets, and other costs by the month or at once."""

import datetime as dt
from fractions import Fraction
from typing import Annotated, Literal

from msgspec import Meta, field

from collector.settings_types import Money, Share, Table, Text, doc, nano

SINCE_EVER = dt.date(2000, 1, 1)
Method = Literal["straight_line", "declining_balance", "market", "rented"]


class Hardware(Table, kw_only=True, frozen=True):
    """An asset: what was bought or rented, and how its cost is spread over time."""

    name: Annotated[Text, doc("what was bought or rented")]
    price: Annotated[
        Money | None, doc("what it cost; only a rented asset has none", "currency")
    ] = None
    in_service: Annotated[dt.date, doc("first day of its life", title="in service from")]
    life_years: Annotated[
        Annotated[int, Meta(ge=1, le=50)] | None,
        doc(
            "how long the price is spread, from the first day on (`straight_line`, "
            "`declining_balance`)",
            "years",
            "life",
        ),
    ] = None
    residual: Annotated[
        Money, doc("what it is still worth at the end of its life", "currency", "residual value")
    ] = "0"
    method: Annotated[
        Method,
        doc(
            "how its value falls: evenly over elapsed time; by a share of what is left each year; "
            "as the market says; or not at all, as it is rented"
        ),
    ] = "straight_line"
    rate_per_year: Annotated[
        Share | None,
        doc(
            "share of its value that a year writes off (`declining_balance`); without it, 2 ÷ life",
            title="yearly rate",
        ),
    ] = None
    market_values: Annotated[
        dict[str, Money],
        Meta(extra={"type": "table of amounts by date"}),
        doc('what it was worth on which day, like `2027-10-01 = "11000"` (`market`)', "currency"),
    ] = field(default_factory=dict)
    rate_per_hour: Annotated[
        Money | None, doc("rent per hour (`rented`)", "currency per hour", "hourly rent")
    ] = None
    rate_per_month: Annotated[
        Money | None,
        doc("rent per local calendar month (`rented`)", "currency per month", "monthly rent"),
    ] = None
    billed: Annotated[
        Literal["always", "while_up"],
        doc("which hours of an hourly rent count: all, or those in which the host is known up"),
    ] = "always"
    retired: Annotated[
        dt.date | None, doc("first day on which it is gone: sold, scrapped or handed back")
    ] = None
    proceeds: Annotated[
        Money, doc("what it was sold for; the rest of its value is lost on that day", "currency")
    ] = "0"
    cards: Annotated[list[Text], doc("cards that carry it, by UUID; without any, all share it")] = (
        field(default_factory=list)
    )

    @property
    def price_nano(self) -> int:
        """The price in nano-units of the currency; 0 for what is rented."""
        return nano(self.price or "0")

    @property
    def residual_nano(self) -> int:
        """The value at the end of its life, nano-units."""
        return nano(self.residual)

    @property
    def proceeds_nano(self) -> int:
        """What it was sold for, nano-units."""
        return nano(self.proceeds)

    @property
    def written_off_per_year(self) -> Fraction:
        """The yearly share of the declining balance; life_years must be known."""
        if self.rate_per_year is not None:
            return Fraction(self.rate_per_year)
        return Fraction(2, self.life_years or 1)

    @property
    def valued(self) -> list[tuple[dt.date, int]]:
        """The market values in order of their days, nano-units. The days must be dates."""
        told = [(dt.date.fromisoformat(day), nano(v)) for day, v in self.market_values.items()]
        return sorted(told)


class OtherCost(Table, kw_only=True, frozen=True):
    """A cost that is neither hardware nor electricity: by the month, at once, or of capital."""

    name: Annotated[Text, doc("what is paid for: internet, space, maintenance")]
    from_: Annotated[
        dt.date, doc("first day on which it counts; the day of an amount paid at once")
    ] = field(name="from", default=SINCE_EVER)
    until: Annotated[
        dt.date | None, doc("first day on which it no longer counts; without it, it goes on")
    ] = None
    per_month: Annotated[
        Money | None, doc("what a local calendar month costs", "currency per month", "per month")
    ] = None
    amount: Annotated[Money | None, doc("what was paid at once, on its day", "currency")] = None
    per_year_of_capital: Annotated[
        Share | None,
        doc(
            "yearly cost of the capital that the assets bind, as a share of their value",
            title="cost of capital, share per year",
        ),
    ] = None
