"""What-ifs in words: sliders, their texts in the address and the file, and figures for a table."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from fractions import Fraction
from typing import Any

from analytics.what_if import Levels
from analytics.wording import BOUNDS
from collector.scenarios import is_possible
from dashboard import compare_words, scenario_meanings, words

MEASURED = "as measured"
ABOVE = "the sliders above"


@dataclass(frozen=True, kw_only=True)
class Slider:
    """A slider over one of `scenarios.CHANGES`: its reach, and where it stands unless moved."""

    name: str
    label: str
    meaning: str
    low: float
    high: float
    step: float
    start: float
    format: str

    def moved(self, value: float) -> str | None:
        """The value as decimal text; None where the slider stands as it stood."""
        return None if abs(value - self.start) < self.step / 1000 else text(value)


def sliders(levels: Levels, currency: str, asked: Mapping[str, float]) -> list[Slider]:
    """The sliders of what can be changed, wide enough for what is asked for."""
    made = [
        Slider(
            name="hours_per_day",
            label="active hours a day",
            meaning=scenario_meanings.IF_HOURS,
            low=min(0.1, asked.get("hours_per_day", 0.1)),
            high=24.0,
            step=0.1,
            start=max(_rounded(levels.hours_per_day, 0.1), 0.1),
            format="%g",
        )
    ]
    price, kwh = levels.hardware_price, levels.price_per_kwh
    if price is not None:
        step = _step(price)
        made.append(
            Slider(
                name="hardware_price",
                label=f"price of the hardware, {currency}",
                meaning=scenario_meanings.IF_HARDWARE,
                low=0.0,
                high=_reach(max(float(2 * price), asked.get("hardware_price", 0.0)), step),
                step=step,
                start=_rounded(price, step),
                format="%,g",
            )
        )
    if kwh is not None:
        most = max(1.0, float(2 * kwh), asked.get("price_per_kwh", 0.0))
        made.append(
            Slider(
                name="price_per_kwh",
                label=f"price of a kWh, {currency}",
                meaning=scenario_meanings.IF_KWH,
                low=0.0,
                high=_reach(most, 0.001),
                step=0.001,
                start=_rounded(kwh, 0.001),
                format="%g",
            )
        )
    return made


def _step(price: Fraction) -> float:
    """The largest power of ten, at most a hundredth of a price, that a slider reaches it by."""
    step = Fraction(10) ** (len(str(int(price))) - 3)
    while price % step and step > Fraction(1, 100):
        step /= 10
    return float(step)


def _rounded(value: Fraction, step: float) -> float:
    return round(round(float(value) / step) * step, 9)


def _reach(value: float, step: float) -> float:
    """The first step that is not below a value."""
    return round(math.ceil(round(value / step, 6)) * step, 9)


def text(value: float) -> str:
    """A number of a slider as decimal text: 4.5, 12000."""
    return f"{value:.9f}".rstrip("0").rstrip(".")


def asked(name: str, told: str | None) -> float | None:
    """What the address asks a slider for; None where that is no such figure."""
    return float(told) if told is not None and is_possible(name, told) else None


def tile(figures: Mapping[str, Any], sheet: Mapping[str, Any], currency: str) -> tuple[str, str]:
    """What would be saved or lost, as the tile of the month itself has it."""
    told = {
        "savings_full_nano": figures["saved_nano"],
        "savings_full_bound": sheet["savings_full_bound"],
    }
    return compare_words.saved_tile(told, "full", currency)


def even(figures: Mapping[str, Any]) -> str:
    """The break-even in hours: a number and what is known of it, `never`, `always`, `unknown`."""
    meet = figures["break_even"]
    if meet is None:
        return words.UNKNOWN
    told = compare_words.axis_figure(meet, "hours_per_day")
    return f"{told}{BOUNDS[meet['bounds']['hours_per_day'] or 'exactly']}"


def row(name: str, figures: Mapping[str, Any]) -> dict[str, Any]:
    """A scenario as a row of the table; amounts in the currency, None where not known."""
    return {
        "scenario": name,
        "hours": figures["hours_per_day"],
        "hardware": figures["hardware_price"],
        "kwh": figures["price_per_kwh"],
        "price": _amount(figures["full_nano_per_mtok"]),
        "cost": _amount(figures["cost_nano"]),
        "bill": _amount(figures["bill_nano"]),
        "saved": _amount(figures["saved_nano"]),
        "even": even(figures),
    }


def _amount(nano: int | None) -> float | None:
    return None if nano is None else nano / words.NANO
