"""One reading of a wall meter, from the units that devices speak."""

from collections.abc import Callable
from dataclasses import dataclass
from decimal import Decimal

UJ_PER_WH = 3_600_000_000
Ask = Callable[[str], bytes]  # the body that a path of the device answers with


class Unreadable(ValueError):
    """The device answered what cannot be a reading; the message says what."""


@dataclass(frozen=True)
class Reading:
    """What a meter told: mW, µJ since `counter_epoch`, each None where it tells none; `error` is
    what else it told that cannot be kept."""

    power_mw: int | None = None
    energy_uj_total: int | None = None
    counter_epoch: str | None = None
    error: str | None = None


def reading(watts: Decimal | None, watt_hours: Decimal | None, epoch: str | None) -> Reading:
    """A reading of W and Wh. Power that flows back is no draw: it is told as an error."""
    backwards = watts is not None and watts < 0
    counted = None if watt_hours is None or watt_hours < 0 else round(watt_hours * UJ_PER_WH)
    return Reading(
        power_mw=None if watts is None or backwards else round(watts * 1000),
        energy_uj_total=counted,
        counter_epoch=None if counted is None else epoch,
        error=f"power flows back: {watts} W" if backwards else None,
    )
