"""What changed since the month before and why, in words: one row for each cause that shows."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from analytics.render.parts import Note, Part, Row
from analytics.render.rounding import in_units

CAUSES = {
    "capital": "hardware",
    "energy": "electricity",
    "energy_drawn": "electricity drawn",
    "energy_price": "price of electricity",
    "other": "other costs",
    "hours": "hours worked",
    "occupancy": "occupancy",
    "throughput": "throughput",
    "tokens": "output tokens",
}
FACTORS = {
    "currency": "{:,.2f}",
    "currency per card-hour": "{:,.4f} per card-hour",
    "currency per kWh": "{:,.4f} per kWh",
    "kWh": "{:,.1f} kWh",
    "ratio": "{:.1%}",
    "tokens": "{:,.0f}",
    "tokens per second": "{:,.1f} tok/s",
    "watts per card": "{:,.1f} W per card",
}
KINDS = {"price": "a million output tokens", "cost": "the cost in all"}
# Units of each figure as it is printed: hundredths of a cent of a price, cents of a cost.
PRINTED = {"price": ("nano_per_mtok", 100_000, 4), "cost": ("nano", 10_000_000, 2)}


def section(month: Mapping[str, Any]) -> Iterator[Part]:
    """Price and cost, each from the month before to this one; or why nothing can be compared."""
    told = month.get("change")
    if told is None:
        return
    since = f"What changed since {told['month']}"
    for kind, what in KINDS.items():
        if told[kind] is not None:
            yield f"{since}: {what}, in {month['currency']}"
            yield from _rows(told[kind], kind, told["month"], month["period"]["name"])
    if told["price"] is None:
        yield f"{since}: a million output tokens"
        yield Note(f"nothing to compare with: {told['why_none']}")
    yield from (Note(note) for note in told["notes"])


def causes(told: Mapping[str, Any], kind: str) -> Sequence[tuple[Mapping[str, Any], int]]:
    """The causes that show, with their printed units; these add up to the printed change."""
    _, *parts = _units(told, kind)
    return [(c, part) for c, part in zip(told["causes"], parts, strict=True) if part]


def _units(told: Mapping[str, Any], kind: str) -> list[int]:
    unit, size, _ = PRINTED[kind]
    return in_units([told[f"old_{unit}"], *(cause[unit] for cause in told["causes"])], size)


def _rows(told: Mapping[str, Any], kind: str, before: str, month: str) -> Iterator[Row]:
    _, _, decimals = PRINTED[kind]
    units = _units(told, kind)
    yield Row(before, (f"{units[0] / 10**decimals:,.{decimals}f}",))
    for cause, part in causes(told, kind):
        name = CAUSES[cause["name"]]
        yield Row(name, (f"{part / 10**decimals:+,.{decimals}f}", factors(cause)))
    yield Row(month, (f"{sum(units) / 10**decimals:,.{decimals}f}",))


def factors(cause: Mapping[str, Any]) -> str:
    """What a cause was and is: "21.3 % → 23.6 %", "unknown → 45.05"."""
    shown = FACTORS[cause["unit"]]
    unit = shown[shown.index("}") + 1 :]
    ends = (cause["old"], cause["new"])
    old, new = ("unknown" if end is None else shown.format(end).replace("%", " %") for end in ends)
    return f"{old.removesuffix(unit)} → {new}" if unit else f"{old} → {new}"
