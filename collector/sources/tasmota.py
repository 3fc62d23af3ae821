"""Tasmota: the energy sensor of `Status 8`; several channels stand as lists.

The counter has a Wh as its step and may fall back after a power cut, as it is saved once a day.
"""

from decimal import Decimal

import msgspec

from collector.sources.meter_reading import Ask, Reading, Unreadable, reading

Figure = Decimal | list[Decimal] | None


class Energy(msgspec.Struct, rename="pascal"):
    """W, kWh, and since when they are counted."""

    power: Figure = None
    total: Figure = None
    total_start_time: str | None = None


class Sensors(msgspec.Struct):
    """The sensors of the device."""

    ENERGY: Energy | None = None


class Status(msgspec.Struct):
    """The answer; `WARNING` where it wants a password."""

    StatusSNS: Sensors | None = None
    WARNING: str | None = None


def read(ask: Ask, channel: int) -> Reading:
    """One channel of the device. Raises Unreadable, msgspec.DecodeError, and what `ask` does."""
    told = msgspec.json.decode(ask("/cm?cmnd=Status%208"), type=Status)
    if told.WARNING is not None:
        raise Unreadable("it wants a password; take its web password off")
    if told.StatusSNS is None or told.StatusSNS.ENERGY is None:
        raise Unreadable("it has no energy sensor")
    energy = told.StatusSNS.ENERGY
    counted = _of(energy.total, channel)
    watt_hours = None if counted is None else counted * 1000
    return reading(_of(energy.power, channel), watt_hours, energy.total_start_time)


def _of(figure: Figure, channel: int) -> Decimal | None:
    if isinstance(figure, list):
        if channel >= len(figure):
            raise Unreadable(f"it has {len(figure)} channels and none of number {channel}")
        return figure[channel]
    if channel:
        raise Unreadable(f"it has one channel and none of number {channel}")
    return figure
