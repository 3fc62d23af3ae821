"""Home Assistant: the states of a power and an energy sensor, in whatever unit they are."""

from decimal import Decimal, InvalidOperation

import msgspec

from collector.sources.meter_reading import Ask, Reading, Unreadable, reading

WATTS = {"mW": Decimal("0.001"), "W": Decimal(1), "kW": Decimal(1000), "MW": Decimal(10**6)}
WATT_HOURS = {"Wh": Decimal(1), "kWh": Decimal(1000), "MWh": Decimal(10**6)}


class Attributes(msgspec.Struct):
    """What the state is counted in, and since when."""

    unit_of_measurement: str | None = None
    last_reset: str | None = None


class State(msgspec.Struct):
    """A state: always text, also where it is a number."""

    state: str
    attributes: Attributes


def read(ask: Ask, power_entity: str | None, energy_entity: str | None) -> Reading:
    """Both sensors, of which one may be missing. Raises Unreadable, msgspec.DecodeError, and what
    `ask` does."""
    watts, _ = _state(ask, power_entity, WATTS)
    watt_hours, since = _state(ask, energy_entity, WATT_HOURS)
    if watts is None and watt_hours is None:
        raise Unreadable("its sensors are not available")
    return reading(watts, watt_hours, f"{energy_entity} {since or ''}".strip())


def _state(
    ask: Ask, entity: str | None, units: dict[str, Decimal]
) -> tuple[Decimal | None, str | None]:
    if entity is None:
        return None, None
    told = msgspec.json.decode(ask(f"/api/states/{entity}"), type=State)
    unit = told.attributes.unit_of_measurement
    if unit not in units:
        raise Unreadable(f"{entity} is in {unit}, not in {' or '.join(units)}")
    try:
        value = Decimal(told.state)
    except InvalidOperation:  # "unavailable", "unknown"
        return None, None
    return (value * units[unit] if value.is_finite() else None), told.attributes.last_reset
