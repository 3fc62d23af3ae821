"""The layers as a chain: what each leaves of the cards' capacity, and what its loss costs."""

from collections.abc import Mapping, Sequence
from fractions import Fraction
from typing import Any

from analytics.utilization import Layers

# Which steps of the waterfall each layer loses. `at_peak` remains, `unassigned` is of no card.
LOST = {
    "hours": ("idle", "off", "other", "unknown"),
    "occupancy": ("headroom", "stranded"),
    "throughput": ("below_peak",),
}


def chain(ratios: Layers, steps: Sequence[Mapping[str, Any]] | None) -> list[dict[str, Any]]:
    """The layers in their order, from the ratios and the waterfall of the period.

    ratio: the layer's own; left: what it and those before it leave of the capacity, cards by
    their peak rates; both None where a denominator is zero. lost_nano_per_mtok: what the steps
    that it loses cost per million output tokens, None where no token was put out.
    """
    told = []
    nano = {step["step"]: step["nano_per_mtok"] for step in steps or []}
    left: Fraction | None = Fraction(1)
    for name, lost in LOST.items():
        ratio: Fraction | None = getattr(ratios, name)
        left = None if left is None or ratio is None else left * ratio
        told.append(
            {
                "name": name,
                "ratio": None if ratio is None else float(ratio),
                "left": None if left is None else float(left),
                "lost_nano_per_mtok": sum(nano[step] for step in lost) if nano else None,
            }
        )
    return told
