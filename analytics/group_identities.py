"""What must hold of the groups of a month: together they are the month, and each adds up."""

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from analytics.calendar_groups import CALENDARS
from analytics.machine_groups import PLACES
from analytics.rollup import LABELS
from analytics.utilization import per_mtok_nano

__all__ = ["CALENDARS", "LABELS", "PLACES", "Pairs", "calendar", "labelled", "placed"]

Pairs = list[tuple[str, Any, Any]]
Group = Mapping[str, Any]


def labelled(month: Mapping[str, Any], label: str) -> Pairs:
    """Of groups of requests: what they carry, and what is left, is the month."""
    groups, left = month["groups"][label], month["unallocated_by_state_nano"]
    cost, tokens = month["cost_nano"], month["tokens"]
    full = _sum(groups, "full_cost_nano") + month["unallocated_cost_nano"]
    pairs: Pairs = [
        ("busy cost", _sum(groups, "busy_cost_nano"), month["requests_cost_nano"]),
        ("full cost + unallocated", full, cost["total"]),
        ("requests", _sum(groups, "requests"), tokens["requests"]),
        ("card time", _total(groups, _card_time), month["card_time_ns"]),
        ("input", _total(groups, lambda group: group["input_tokens"] or 0), tokens["input"] or 0),
        (
            "output",
            _total(groups, lambda group: group["output_tokens"] or 0),
            tokens["output"] or 0,
        ),
        (
            "marginal cost + unattributed",
            _total(groups, _marginal) + month["unattributed_marginal_nano"],
            month["marginal_cost_nano"] or 0,
        ),
    ]
    for state, nano in month["states_cost_nano"].items():
        shared = sum(group["states_cost_nano"].get(state, 0) for group in groups)
        pairs.append((f"cost of {state} + unallocated", shared + left[state], nano))
    for group in groups:
        pairs += _own(group, group["full_cost_nano"], group["output_tokens"])
    return [(f"by {label}, {what}", *sides) for what, *sides in pairs]


def placed(month: Mapping[str, Any], place: str) -> Pairs:
    """Of groups of cells: together they are the month, less what no card carries."""
    groups, whole = month["groups"][place], month["states_cost_nano"]
    cost = _sum(groups, "cost_nano") + whole["unassigned"]
    tokens = month["tokens"]
    pairs: Pairs = [
        ("capacity", _sum(groups, "capacity_ns"), month["capacity_ns"]),
        ("cost + unassigned", cost, month["cost_nano"]["total"]),
        ("tokens put out", _total(groups, _emitted), tokens["emitted"] or 0),
        ("card time", _total(groups, _card_time), month["card_time_ns"]),
        ("marginal cost", _total(groups, _marginal), month["marginal_cost_nano"] or 0),
    ]
    if place != "card":  # a request may have run on no card
        pairs.append(("requests", _sum(groups, "requests"), tokens["requests"]))
    for state, ns in month["states_ns"].items():
        time = sum(group["states_ns"][state] for group in groups)
        nano = sum(group["states_cost_nano"][state] for group in groups)
        pairs += [(state, time, ns), (f"cost of {state}", nano, whole[state])]
    for group in groups:
        worked = _card_time(group) + group["unattributed_ns"]
        pairs.append((f"{group['name']}: busy time", worked, group["states_ns"]["busy"]))
        pairs += _own(group, group["cost_nano"], group["emitted_tokens"])
    return [(f"by {place}, {what}", *sides) for what, *sides in pairs]


def calendar(month: Mapping[str, Any], name: str) -> Pairs:
    """Of the cards' time in a calendar: together it is the month's."""
    groups = month["groups"][name]
    pairs: Pairs = [("capacity", _sum(groups, "capacity_ns"), month["capacity_ns"])]
    for state, ns in month["states_ns"].items():
        pairs.append((state, sum(group["states_ns"][state] for group in groups), ns))
    return [(f"by {name}, {what}", *sides) for what, *sides in pairs]


def _own(group: Group, cost: int, tokens: int | None) -> Pairs:
    """A group's own sums."""
    name, steps = group["name"], group["waterfall_nano_per_mtok"]
    pairs: Pairs = [(f"{name}: cost by state", sum(group["states_cost_nano"].values()), cost)]
    if steps is not None and tokens:
        pairs.append((f"{name}: waterfall", sum(steps.values()), per_mtok_nano(cost, tokens)))
    return pairs


def _card_time(group: Group) -> int:
    return sum(group["card_time_ns"].values())


def _emitted(group: Group) -> int:
    return group["emitted_tokens"] or 0


def _marginal(group: Group) -> int:
    return group["marginal_cost_nano"] or 0


def _sum(groups: Iterable[Group], figure: str) -> int:
    return sum(group[figure] for group in groups)


def _total(groups: Iterable[Group], figure: Callable[[Group], int]) -> int:
    return sum(map(figure, groups))
