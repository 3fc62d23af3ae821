"""What must hold to the unit before a number is shown. A report that fails one is not published."""

from collections.abc import Iterable, Mapping
from typing import Any

from analytics.group_identities import (
    CALENDARS,
    LABELS,
    PLACES,
    Pairs,
    calendar,
    labelled,
    placed,
)  # fmt: skip
from analytics.routing_identities import routed
from analytics.utilization import Layers

Exact = Iterable[tuple[str, Layers, int | None]]  # a name, its layers, the tokens they multiply to


class BrokenIdentity(RuntimeError):
    """The books do not add up: a defect of the program, never to be published over."""


def check(
    month: Mapping[str, Any], exact: Exact, smallest_leaf: int, declared: Pairs | None = None
) -> None:
    """Recompute every identity of a month. Raises BrokenIdentity with both sides of each.

    `exact` are the layers of the month and its groups, unrounded; `smallest_leaf` is the least of
    the leaves' time and card energy, neither of which may be negative; `declared` is what the
    settings alone say (`declared.declared`).
    """
    pairs = _whole(month) + _layers(exact) + _compared(month) + routed(month) + _headroom(month)
    pairs += declared or []
    for label in LABELS:
        pairs += labelled(month, label)
    for place in PLACES:
        pairs += placed(month, place)
    for name in CALENDARS:
        pairs += calendar(month, name)
    broken = [f"{what}: {left} ≠ {right}" for what, left, right in pairs if left != right]
    if smallest_leaf < 0:
        broken.append(f"a leaf is negative: {smallest_leaf}")
    if broken:
        raise BrokenIdentity(
            "the books do not add up, so nothing is published: " + "; ".join(broken)
        )


def _whole(month: Mapping[str, Any]) -> Pairs:
    cost, by_state = month["cost_nano"], month["states_cost_nano"]
    pairs: Pairs = [
        ("Σ states = capacity", sum(month["states_ns"].values()), month["capacity_ns"]),
        ("Σ states' cost = total", sum(by_state.values()), cost["total"]),
        (
            "capital + energy + other = total",
            cost["capital"] + cost["energy"] + cost["other"],
            cost["total"],
        ),
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
        (
            "Σ card time by kind = card time",
            sum(month["kinds_ns"].values()),
            month["card_time_ns"],
        ),
        (
            "Σ cost by kind = requests' cost",
            sum(month["kinds_cost_nano"].values()),
            month["requests_cost_nano"],
        ),
        (
            "Σ unallocated by state = unallocated",
            sum(month["unallocated_by_state_nano"].values()),
            month["unallocated_cost_nano"],
        ),
    ]
    if (metered := month["energy_uj"]["metered"]) is not None:
        drawn = metered["cards"] + metered["host"] + metered["unassigned"]
        pairs.append(("cards + host + unassigned = metered", drawn, metered["supplied"]))
    if month["waterfall_nano_per_mtok"] is not None:
        steps = sum(step["nano_per_mtok"] for step in month["waterfall_nano_per_mtok"])
        pairs.append(("Σ waterfall = full price", steps, month["cost_per_mtok"]["full"]["output"]))
        told = {s["step"]: s["nano_per_mtok"] for s in month["waterfall_nano_per_mtok"]}
        lost = sum(layer["lost_nano_per_mtok"] for layer in month["layers"]["chain"])
        whole = told["at_peak"] + lost + told["unassigned"]
        pairs.append(("at peak + Σ lost by layer + unassigned = waterfall", whole, steps))
    quiet = month["states_ns"]["headroom"] + month["states_ns"]["idle"]
    for gap in ("half", "twice"):
        told = month["active_gap"][gap]
        moved = told["headroom_ns"] + told["idle_ns"]
        pairs.append((f"headroom + idle at {gap} the gap = at the gap", moved, quiet))
    return pairs


def _headroom(month: Mapping[str, Any]) -> Pairs:
    """No more engines make a first token later, and one less than needed misses the target."""
    pairs: Pairs = []
    for pool in month["headroom"].get("needed", ()):
        name, fewest = pool["name"], pool["needed"]
        p95 = [ms for ms in pool["p95_ms"].values() if ms is not None]
        pairs.append((f"p95 of {name} by engines", p95, sorted(p95, reverse=True)))
        target = month["headroom"]["slo"]["ttft_p95_ms"]
        missed = sum(ms > target for ms in p95)
        if p95:
            least = missed + 1 if missed < len(p95) else None
            pairs.append((f"engines that {name} needs", fewest, least))
    return pairs


def _compared(month: Mapping[str, Any]) -> Pairs:
    """Every request is in a sheet's bill or told with its reason; savings are bill less cost."""
    pairs: Pairs = []
    for entry in month["compare"]:
        name = entry["sheet"]
        told = entry["priced_requests"] + sum(each["requests"] for each in entry["unpriced"])
        pairs.append((f"priced + unpriced at {name} = requests", told, month["tokens"]["requests"]))
        for kind, own in (
            ("full", month["cost_nano"]["total"]),
            ("marginal", month["marginal_cost_nano"]),
        ):
            if (saved := entry[f"savings_{kind}_nano"]) is not None:
                bill = entry["headline_nano"]
                pairs.append((f"{kind} cost + saved at {name} = bill", own + saved, bill))
    return pairs


def _layers(exact: Exact) -> Pairs:
    return [
        (f"l1·l2·l3·capacity of {name} = output tokens", layers.product, tokens)
        for name, layers, tokens in exact
        if layers.product is not None
    ]
