"""Settings of power: the tariff, what stands between the cards and the wall, and wall meters."""

import datetime as dt
from decimal import Decimal
from typing import Annotated, Literal

from msgspec import Meta, field

from collector.settings_types import Factor, Money, Share, Table, Text, Url, doc, nano

DAY_MINUTES = 24 * 60
WEEKDAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
HOLIDAYS = "holidays"


class Window(Table, kw_only=True, frozen=True):
    """Hours with a price of their own; the first window that holds counts, else price_per_kwh."""

    days: Annotated[
        str,
        Meta(
            pattern=r"^[a-z]+(-[a-z]+)?( *, *[a-z]+(-[a-z]+)?)*$",
            extra={"type": "weekdays, ranges of them, holidays"},
        ),
        doc("days on which it begins, like mon-fri or sat,sun or holidays"),
    ] = "mon-sun"
    hours: Annotated[
        str,
        Meta(
            pattern=r"^([01]?\d|2[0-4])(:[0-5]\d)?-([01]?\d|2[0-4])(:[0-5]\d)?$",
            extra={"type": "hours from-to"},
        ),
        doc("local time from and to, like 16-21 or 16:30-21; 22-6 ends on the next day"),
    ] = "0-24"
    price: Annotated[Money, doc("price at the wall", "currency per kWh")]

    @property
    def price_nano_per_kwh(self) -> int:
        """Price of a kWh at the wall, nano-units."""
        return nano(self.price)

    @property
    def minutes(self) -> tuple[int, int]:
        """From and to, minutes of the local day; an end before the start is on the next day."""
        start, end = (_minute(part) for part in self.hours.split("-"))
        return start, end

    @property
    def kinds(self) -> frozenset[str]:
        """The weekdays, and `holidays`, that it begins on; none where a word is neither."""
        found: set[str] = set()
        for part in self.days.replace(" ", "").split(","):
            first, _, last = part.partition("-")
            if part == HOLIDAYS:
                found.add(HOLIDAYS)
            elif {first, last or first} <= set(WEEKDAYS):
                start, end = WEEKDAYS.index(first), WEEKDAYS.index(last or first)
                found |= {WEEKDAYS[(start + n) % 7] for n in range((end - start) % 7 + 1)}
            else:
                return frozenset()
        return frozenset(found)


class Electricity(Table, kw_only=True, frozen=True):
    """A tariff and the draw that no card reports, from a date on."""

    from_: Annotated[dt.date, doc("first day on which this entry counts")] = field(name="from")
    price_per_kwh: Annotated[
        Money | None, doc("price at the wall, where no window holds", "currency per kWh", "price")
    ] = None
    windows: list[Window] = field(default_factory=list)
    holidays: Annotated[
        Annotated[
            str,
            Meta(
                pattern=r"^[A-Z]{2}(-[A-Za-z0-9]{1,4})?$",
                extra={"type": "country, or country-region"},
            ),
        ]
        | None,
        doc("whose holidays the windows mean, like US, US-CA or DE-BE"),
    ] = None
    series: Annotated[
        Text | None,
        doc("CSV file of prices by instant, in place of price and windows", title="price series"),
    ] = None
    host_watts: Annotated[
        Annotated[int, Meta(ge=0, le=100_000)] | None,
        doc(
            "draw of the host beyond what its cards report, where no wall meter tells; without "
            "it, unknown",
            "W",
            "host power",
        ),
    ] = None
    psu_efficiency: Annotated[
        Share,
        doc(
            "part of the power at the wall that comes out of the power supply",
            title="power supply efficiency",
        ),
    ] = "1"
    overhead: Annotated[
        Factor, doc("what is paid for per kWh that the rig takes, like 1.3 with its cooling")
    ] = "1"
    carbon_g_per_kwh: Annotated[
        Annotated[int, Meta(ge=0, le=10_000)] | None,
        doc("carbon of the grid; without it, emissions are unknown", "g per kWh", "carbon"),
    ] = None

    @property
    def price_nano_per_kwh(self) -> int | None:
        """Price of a kWh at the wall where no window holds, nano-units."""
        return None if self.price_per_kwh is None else nano(self.price_per_kwh)

    @property
    def psu_efficiency_e4(self) -> int:
        """PSU efficiency in ten-thousandths."""
        return int(Decimal(self.psu_efficiency) * 10_000)

    @property
    def overhead_e4(self) -> int:
        """Overhead factor in ten-thousandths."""
        return int(Decimal(self.overhead) * 10_000)


class Meter(Table, kw_only=True, frozen=True):
    """A meter at the wall, through which everything the rig draws comes; several add up."""

    name: Annotated[Text, doc("what the pages call this meter")]
    kind: Annotated[
        Literal["shelly", "tasmota", "home_assistant"], doc("what it is, hence how it is asked")
    ]
    url: Annotated[Url, doc("where it answers")]
    channel: Annotated[
        int, Meta(ge=0, le=15), doc("which of its channels, where it has several; the first is 0")
    ] = 0
    power_entity: Annotated[
        Text | None, doc("Home Assistant's sensor of the power, like sensor.rig_power")
    ] = None
    energy_entity: Annotated[
        Text | None, doc("Home Assistant's sensor of the energy counted, like sensor.rig_energy")
    ] = None
    token_file: Annotated[
        Text | None,
        doc("file with Home Assistant's token; without it, RIGLEDGER_METER_TOKEN holds it"),
    ] = None
    sample_seconds: Annotated[int, Meta(ge=1, le=60), doc("time between readings", "s")] = 10
    from_: Annotated[dt.date, doc("first day on which this entry counts")] = field(
        name="from", default=dt.date(2000, 1, 1)
    )
    until: Annotated[
        dt.date | None, doc("first day on which the meter is gone; without it, it stays")
    ] = None


def _minute(text: str) -> int:
    hour, _, minute = text.partition(":")
    return int(hour) * 60 + int(minute or 0)
