"""What must hold to the unit before a number is shown. A report that fails one is not published."""

from collections.abc import Mapping
from typing import Any

from analytics.utilization import Layers


class BrokenIdentity(RuntimeError):
    """The books do not add up: a defect of the program, never to be published over."""


def check(month: Mapping[str, Any], layers: Layers, smallest_leaf: int) -> None:
    """Recompute every identity of a month. Raises BrokenIdentity with both sides of each.

    `smallest_leaf` is the least of the leaves' time and money, none of which may be negative.
    """
    broken = [f"{what}: {left} ≠ {right}" for what, left, right in _pairs(month, layers)
              if left != right]  # fmt: skip
    if smallest_leaf < 0:
        broken.append(f"a leaf is negative: {smallest_leaf}")
    if broken:
        raise BrokenIdentity(
            "the books do not add up, so nothing is published: " + "; ".join(broken)
        )


def _pairs(month: Mapping[str, Any], layers: Layers) -> list[tuple[str, Any, Any]]:
    cost, by_state = month["cost_nano"], month["states_cost_nano"]
    pairs = [
        ("Σ states = capacity", sum(month["states_ns"].values()), month["capacity_ns"]),
        ("Σ states' cost = total", sum(by_state.values()), cost["total"]),
        ("capital + energy = total", cost["capital"] + cost["energy"], cost["total"]),
        (
            "requests + unattributed = busy cost",
            month["requests_cost_nano"] + month["unattributed_cost_nano"],
            by_state["busy"],
        ),
        (
            "Σ card time + unattributed = busy time",
            month["card_time_ns"] + month["quality"]["unattributed_ns"],
            month["states_ns"]["busy"],
        ),
    ]
    if month["waterfall_nano_per_mtok"] is not None:
        steps = sum(step["nano_per_mtok"] for step in month["waterfall_nano_per_mtok"])
        pairs.append(("Σ waterfall = full price", steps, month["cost_per_mtok"]["full"]["output"]))
    for name, groups in month["groups"].items():
        busy = sum(group["busy_cost_nano"] for group in groups)
        pairs.append((f"Σ busy cost by {name} = requests", busy, month["requests_cost_nano"]))
        full = sum(group["full_cost_nano"] for group in groups) + month["unallocated_cost_nano"]
        pairs.append((f"Σ full cost by {name} = total", full, cost["total"]))
    if layers.hours is not None and layers.occupancy is not None and layers.throughput is not None:
        product = layers.hours * layers.occupancy * layers.throughput * layers.rated_capacity
        pairs.append(("l1·l2·l3·capacity = output tokens", product, month["tokens"]["output"]))
    return pairs
