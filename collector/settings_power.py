"""Settings of power: the tariff, and what stands between the cards and the wall."""

import datetime as dt
from decimal import Decimal
from typing import Annotated

from msgspec import Meta, field

from collector.settings_types import Money, Share, Table, doc, nano


class Electricity(Table, kw_only=True, frozen=True):
    """A tariff and the draw that no card reports, from a date on."""

    from_: Annotated[dt.date, doc("first day on which this entry counts")] = field(name="from")
    price_per_kwh: Annotated[Money, doc("price at the wall", "currency per kWh", "price")]
    host_watts: Annotated[
        int,
        Meta(ge=0, le=100_000),
        doc("draw of the host beyond what its cards report", "W", "host power"),
    ] = 0
    psu_efficiency: Annotated[
        Share,
        doc(
            "part of the power at the wall that comes out of the power supply",
            title="power supply efficiency",
        ),
    ] = "1"

    @property
    def price_nano_per_kwh(self) -> int:
        """Price of a kWh at the wall, nano-units."""
        return nano(self.price_per_kwh)

    @property
    def psu_efficiency_e4(self) -> int:
        """PSU efficiency in ten-thousandths."""
        return int(Decimal(self.psu_efficiency) * 10_000)
