"""Shelly plugs and meters: the RPC of Gen2 and later, and Gen1's `/status`.

Gen2 counts Wh to a thousandth, Gen1's plugs watt-minutes, its energy meters Wh.
"""

from decimal import Decimal

import msgspec

from collector.sources.meter_reading import Ask, Reading, Unreadable, reading


class About(msgspec.Struct):
    """The part of `/shelly` that is read; Gen1 tells no generation."""

    mac: str | None = None
    gen: int = 1


class Counted(msgspec.Struct):
    """Gen2's counter, Wh."""

    total: Decimal | None = None


class Component(msgspec.Struct):
    """A switch, plug or meter of Gen2: W, and Wh where it counts."""

    apower: Decimal | None = None
    act_power: Decimal | None = None
    aenergy: Counted | None = None


class Totals(msgspec.Struct):
    """The counter beside a Gen2 energy meter, Wh."""

    total_act_energy: Decimal | None = None


class Channel(msgspec.Struct):
    """A channel of Gen1: W, and what it counted."""

    power: Decimal | None = None
    total: Decimal | None = None
    is_valid: bool = True


class Status(msgspec.Struct):
    """The part of Gen1's `/status` that is read."""

    meters: list[Channel] = []
    emeters: list[Channel] = []


def read(ask: Ask, channel: int) -> Reading:
    """One channel of the device. Raises Unreadable, msgspec.DecodeError, and what `ask` does."""
    about = msgspec.json.decode(ask("/shelly"), type=About)
    if about.gen >= 2:
        return _rpc(ask("/rpc/Shelly.GetStatus"), channel, about.mac)
    status = msgspec.json.decode(ask("/status"), type=Status)
    channels = status.emeters or status.meters
    if channel >= len(channels):
        raise Unreadable(f"it has {len(channels)} channels and none of number {channel}")
    told = channels[channel]
    if not told.is_valid:
        raise Unreadable("it says itself that its reading is not valid")
    per_wh = 1 if status.emeters else 60
    return reading(told.power, None if told.total is None else told.total / per_wh, about.mac)


def _rpc(body: bytes, channel: int, mac: str | None) -> Reading:
    parts = msgspec.json.decode(body, type=dict[str, msgspec.Raw])
    for kind in ("switch", "pm1", "em1"):
        if (raw := parts.get(f"{kind}:{channel}")) is None:
            continue
        told = msgspec.json.decode(raw, type=Component)
        counted = told.aenergy.total if told.aenergy else None
        if (totals := parts.get(f"em1data:{channel}")) is not None and kind == "em1":
            counted = msgspec.json.decode(totals, type=Totals).total_act_energy
        watts = told.act_power if told.apower is None else told.apower
        return reading(watts, counted, mac)
    raise Unreadable(f"it has no meter on channel {channel}")
