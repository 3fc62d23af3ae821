"""A break-even in words: one row for each axis."""

from collections.abc import Iterator
from fractions import Fraction
from typing import Any

from analytics.render.rounding import percent
from analytics.wording import BOUNDS

AXES = {
    "hours_per_day": "hours per day",
    "utilization": "utilization",
    "tokens_per_day": "output tokens per day",
    "hardware_price": "price of the hardware",
    "price_per_kwh": "price of a kWh",
    "payback_months": "months until it has paid",
}


def rows(found: dict[str, Any]) -> Iterator[tuple[str, str]]:
    """Label and figure of each axis that has an answer, of `breakeven.as_json`."""
    for axis, label in AXES.items():
        verdict = found["verdicts"][axis]
        if verdict is not None:
            figure = _figure(axis, found[axis]) if verdict == "at" else verdict
            yield f"{label}{bound(found, axis)}", figure


def bound(found: dict[str, Any], axis: str) -> str:
    """What is known of an axis' figure, to stand after its label."""
    bounds = found.get("bounds", {})  # a month that was closed earlier tells none
    return BOUNDS[bounds.get(axis) or "exactly"]


def _figure(axis: str, value: str | int) -> str:
    number = Fraction(value)
    match axis:
        case "utilization":
            return percent(float(number))
        case "tokens_per_day":
            return f"{value:,}"
        case "price_per_kwh":
            return f"{float(number):,.4f}"
        case "payback_months":
            return f"{float(number):,.1f}"
        case _:
            return f"{float(number):,.2f}"
