"""What changed from one month to the next, and why: a change in causes that add up to it.

The full price is cost over output tokens, and per time of a card in service

    (capital + watts × price of energy + other) ÷ (hours × occupancy × throughput)

so that a longer month changes nothing by itself. What a cause did is its mean over all orders in
which the causes may have come one after another (Shapley's value): no order is preferred, turned
around every cause changes its sign, and the causes are the whole change.
"""

from collections.abc import Callable, Mapping, Sequence
from fractions import Fraction
from itertools import combinations
from math import comb
from typing import Any

from analytics.identities import BrokenIdentity
from analytics.utilization import MTOK
from analytics.wording import counted

HOUR_NS, KWH_UJ, SECOND_NS = 3_600 * 10**9, 3_600 * 10**9, 10**9
Month = Mapping[str, Any]
Shown = Mapping[str, tuple[str, Fraction]]
Factors = dict[str, Fraction]
Formula = Callable[[Mapping[str, Fraction]], Fraction]

# How an old and a new factor are shown, and the number that is shown for one in the books' units.
SHOWN = {
    "capital": ("currency per card-hour", Fraction(HOUR_NS, 10**9)),
    "energy": ("currency per card-hour", Fraction(HOUR_NS, 10**9)),
    "energy_drawn": ("watts per card", Fraction(10**9, 10**6)),
    "energy_price": ("currency per kWh", Fraction(KWH_UJ, 10**9)),
    "other": ("currency per card-hour", Fraction(HOUR_NS, 10**9)),
    "hours": ("ratio", Fraction(1)),
    "occupancy": ("ratio", Fraction(1)),
    "throughput": ("tokens per second", Fraction(SECOND_NS)),
    "tokens": ("tokens", Fraction(1)),
}
SHOWN_IN_ALL = {
    "capital": ("currency", Fraction(1, 10**9)),
    "energy": ("currency", Fraction(1, 10**9)),
    "energy_drawn": ("kWh", Fraction(1, KWH_UJ)),
    "energy_price": SHOWN["energy_price"],
    "other": ("currency", Fraction(1, 10**9)),
}


def change(month: Month, before: Month) -> dict[str, Any]:
    """How a month's document differs from that of the month before, in causes.

    cost: the total, old and new, nano-units; price: the full price per million output tokens;
    each None where `why_none` says why. Causes add up to the change, to the unit; their old and
    new factors are for showing, None where not known. notes: what makes the comparison less than
    whole. Raises BrokenIdentity rather than return causes that are not the whole change.
    """
    told = nothing(before["period"]["name"], _incomparable(month, before))
    if told["why_none"] is not None:
        return told
    told["cost"] = _cost(month, before)
    silent = [each for each in (month, before) if not each["tokens"]["output"]]
    if silent:
        told["why_none"] = f"no output tokens are known of {silent[0]['period']['name']}"
    else:
        told["price"] = _price(month, before)
    told["notes"] = [note for each in (before, month) for note in _notes(each)]
    return told


def nothing(before: str, why: str | None) -> dict[str, Any]:
    """The document of a change of which nothing can be told."""
    return {"month": before, "why_none": why, "cost": None, "price": None, "notes": []}


def effects(
    formula: Formula, old: Mapping[str, Fraction], new: Mapping[str, Fraction]
) -> dict[str, Fraction]:
    """What each factor did of `formula(new)` − `formula(old)`, the mean over all orders of change.

    The effects add up to the difference; a factor that stayed the same did nothing. The formula is
    asked for every mixture of old and new factors, two to the power of those that changed.
    """
    moved = [name for name in old if old[name] != new[name]]
    values = {
        chosen: formula({**old, **{name: new[name] for name in chosen}})
        for size in range(len(moved) + 1)
        for chosen in map(frozenset, combinations(moved, size))
    }
    found = dict.fromkeys(old, Fraction(0))
    for name in moved:
        for chosen, value in values.items():
            if name not in chosen:
                weight = len(moved) * comb(len(moved) - 1, len(chosen))
                found[name] += (values[chosen | {name}] - value) / weight
    return found


def _incomparable(month: Month, before: Month) -> str | None:
    if month["currency"] != before["currency"]:
        return f"{before['period']['name']} is in {before['currency']}"
    return None


def _cost(month: Month, before: Month) -> dict[str, Any]:
    new, old = _money(month, before)
    done = effects(_spent, old, new)
    totals = [each["cost_nano"]["total"] for each in (before, month)]
    ends = ((before, old), (month, new))
    causes = _causes("nano", _rounded(Fraction(totals[0]), done), ends, SHOWN_IN_ALL)
    return _whole("nano", totals, causes)


def _price(month: Month, before: Month) -> dict[str, Any]:
    (new, old), both = _money(month, before), (month, before)
    if all(_worked(each) for each in both):
        new, old = (_by_layers(*pair) for pair in zip(both, (new, old), strict=True))
        shown = SHOWN
    else:
        for each, factors in zip(both, (new, old), strict=True):
            factors["tokens"] = Fraction(each["tokens"]["output"])
        shown = {**SHOWN_IN_ALL, "tokens": SHOWN["tokens"]}
    done = effects(_priced, old, new)
    prices = [each["cost_per_mtok"]["full"]["output"] for each in (before, month)]
    ends = ((before, old), (month, new))
    causes = _causes("nano_per_mtok", _rounded(_priced(old), done), ends, shown)
    return _whole("nano_per_mtok", prices, causes)


def _whole(unit: str, ends: Sequence[int], causes: list[dict[str, Any]]) -> dict[str, Any]:
    old, new = ends
    done = sum(cause[unit] for cause in causes)
    if done != new - old:
        raise BrokenIdentity(f"Σ causes = change: {done} ≠ {new - old}; nothing is published")
    return {
        f"old_{unit}": old,
        f"new_{unit}": new,
        f"change_{unit}": new - old,
        "causes": causes,
    }


def _money(month: Month, before: Month) -> tuple[Factors, Factors]:
    """The parts of both months' cost: nano-units, µJ, and nano-units per µJ.

    Energy is one part where not all that was drawn is known and priced in both.
    """
    is_split = all(_is_metered(each) for each in (month, before))
    return _parts(month, is_split=is_split), _parts(before, is_split=is_split)


def _parts(month: Month, *, is_split: bool) -> Factors:
    cost = {name: Fraction(month["cost_nano"][name]) for name in ("capital", "energy", "other")}
    if not is_split:
        return cost
    drawn = Fraction(_billed_uj(month))
    energy = {"energy_drawn": drawn, "energy_price": cost["energy"] / drawn}
    return {"capital": cost["capital"], **energy, "other": cost["other"]}


def _is_metered(month: Month) -> bool:
    counted = month["quality"]
    # What a card does not tell is in the host's part where the wall was metered.
    known = month["energy_uj"]["host"] is not None and not counted["unmetered_ns"]
    return known and not counted["unpriced_energy_uj"] and _billed_uj(month) > 0


def _billed_uj(month: Month) -> int:
    """At the wall, where a price holds; a month that was closed before that was kept has it behind
    the power supply."""
    told = month["energy_uj"]
    return int(told["billed"] if "billed" in told else (told["cards"] or 0) + (told["host"] or 0))


def _worked(month: Month) -> bool:
    """Whether the layers split the month's tokens: cards were in service, and some were busy."""
    return bool(month["capacity_ns"] and month["layers"]["hours"] and month["layers"]["occupancy"])


def _by_layers(month: Month, money: Factors) -> Factors:
    """Cost per ns of a card, and the layers; throughput in tokens per busy ns of a card, so that
    a new peak rate changes nothing by itself."""
    capacity = Fraction(month["capacity_ns"])
    per_card = {n: v if n == "energy_price" else v / capacity for n, v in money.items()}
    # The ratios as the document tells them; the throughput is what is left, hence exact.
    hours, occupancy = (Fraction(month["layers"][name]) for name in ("hours", "occupancy"))
    throughput = month["tokens"]["output"] / (capacity * hours * occupancy)
    return {**per_card, "hours": hours, "occupancy": occupancy, "throughput": throughput}


def _spent(of: Mapping[str, Fraction]) -> Fraction:
    energy = of["energy"] if "energy" in of else of["energy_drawn"] * of["energy_price"]
    return of["capital"] + energy + of["other"]


def _priced(of: Mapping[str, Fraction]) -> Fraction:
    """Nano-units per million output tokens."""
    if "tokens" in of:
        return MTOK * _spent(of) / of["tokens"]
    return MTOK * _spent(of) / (of["hours"] * of["occupancy"] * of["throughput"])


def _rounded(start: Fraction, done: Mapping[str, Fraction]) -> dict[str, int]:
    """Effects in units, each rounded at its place on the way from the start to the end."""
    found, reached, at = {}, _half_up(start), start
    for name, effect in done.items():
        at += effect
        found[name] = _half_up(at) - reached
        reached += found[name]
    return found


def _half_up(value: Fraction) -> int:
    return int((2 * value + 1) // 2)


def _causes(
    unit: str,
    done: Mapping[str, int],
    ends: tuple[tuple[Month, Factors], tuple[Month, Factors]],
    shown: Shown,
) -> list[dict[str, Any]]:
    (before, old), (month, new) = ends
    return [
        {
            "name": name,
            unit: nano,
            "old": _factor(name, before, old, shown),
            "new": _factor(name, month, new, shown),
            "unit": shown[name][0],
        }
        for name, nano in done.items()
    ]


def _factor(name: str, month: Month, factors: Factors, shown: Shown) -> float | None:
    """As it is shown; None for the electricity of a month of which nothing was told."""
    told = month["energy_uj"]
    if name == "energy" and told["cards"] is None and told["host"] is None:
        return None
    return float(factors[name] * shown[name][1])


def _notes(month: Month) -> Sequence[str]:
    name, notes = month["period"]["name"], []
    if month["period"]["provisional"]:
        notes.append(f"{name} still runs: its cost is that so far")
    if month["at_least"]:
        notes.append(f"the cost of {name} is only known in part")
    if silent := month["quality"]["missing_output"]:
        notes.append(f"{counted(silent, 'request')} of {name} told no output")
    return notes
