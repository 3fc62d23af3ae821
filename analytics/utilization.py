"""The three layers and the waterfall: how much of the machine was used, and what the rest cost."""

from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass
from fractions import Fraction
from typing import Any

import numpy as np
import polars as pl

from analytics.intervals import Ints, clip, distinct, measure, union
from analytics.rig import Card
from collector.clock import SECOND_NS

WINDOW_NS = 60 * SECOND_NS
ACTIVE = ("busy", "stranded", "headroom")
MTOK = 1_000_000
WATERFALL = (
    "at_peak", "below_peak", "stranded", "headroom", "idle", "off", "other", "unknown",
    "unassigned",
)  # fmt: skip


@dataclass(frozen=True)
class Peak:
    """A card's best rate: millionths of a token per busy second, and where it was seen."""

    utok_per_s: int
    source: str
    from_ns: int | None = None
    to_ns: int | None = None
    busy_ns: int = 0

    @property
    def rank(self) -> tuple[int, int]:
        """What makes a measured peak the better one: a whole window first, then the rate."""
        return min(self.busy_ns, WINDOW_NS), self.utok_per_s

    def as_dict(self) -> dict[str, Any]:
        """For keeping; `Peak(**found)` gives it back."""
        return asdict(self)


def peaks(cards: list[Card], rows: pl.DataFrame, from_ns: int, to_ns: int) -> dict[str, Peak]:
    """Each card's best rate within a span (a local day), from `timeline` rows.

    Windows do not reach across the span's ends; a card that put out nothing has no entry.
    """
    rows = rows.select(_READ).filter(pl.col("end_ns") > from_ns, pl.col("start_ns") < to_ns)
    found = {}
    for card in cards:
        own = rows.filter(pl.col("card") == card.uuid)
        peak = _measured(own, from_ns, to_ns)
        if peak is not None:
            found[card.uuid] = peak
    return found


_READ = [
    "card", "start_ns", "compute_ns", "split_ns", "end_ns", "second_kind", "output_tokens",
    "n_cards",
]  # fmt: skip


def best_peaks(
    cards: Iterable[str], days: Iterable[Mapping[str, Peak]], declared: Mapping[str, int]
) -> dict[str, Peak]:
    """The peak of each card over several days: declared, else the best of the days.

    Days with less than 60 busy seconds count only where there is no other, the busiest first. A
    card that never worked is taken to be as fast as the fastest one; without any, no peak.
    """
    found: dict[str, Peak] = {}
    for day in days:
        for card, peak in day.items():
            if card not in found or peak.rank > found[card].rank:
                found[card] = peak
    found.update({card: Peak(rate * MTOK, "declared") for card, rate in declared.items()})
    fastest = max((peak.utok_per_s for peak in found.values()), default=0)
    assumed = Peak(fastest, "assumed, as the fastest card")
    return {card: found.get(card, assumed) for card in cards} if fastest else {}


def _measured(rows: pl.DataFrame, from_ns: int, to_ns: int) -> Peak | None:
    """Tokens spread evenly from first to last token, over the best 60 s of busy time."""
    rows = rows.filter(pl.col("end_ns") > pl.col("start_ns"))
    busy = clip(union(rows["start_ns"].to_numpy(), rows["end_ns"].to_numpy()), from_ns, to_ns)
    emitting = rows.filter(
        pl.col("output_tokens") > 0,
        pl.col("second_kind") == "output",
        pl.col("end_ns") > pl.col("compute_ns"),
    )
    seen = pl.col("split_ns") < pl.col("end_ns")
    emitting = emitting.with_columns(first=pl.when(seen).then("split_ns").otherwise("compute_ns"))
    emitting = emitting.filter(pl.col("first") < to_ns)
    if emitting.is_empty():
        return None
    edges, tokens = _cumulative(emitting, from_ns, to_ns)
    clock = _busy_clock(busy, edges)
    worked = measure(busy)
    window = min(WINDOW_NS, worked)
    # Tokens grow linearly between edges, so the best window starts or ends at one.
    most, begin = max(
        (
            _best(clock, tokens, np.clip(starts, 0, worked - window), window)
            for starts in (clock, clock - window)
        ),
        key=lambda found: (found[0], -found[1]),
    )
    rate = round(most * MTOK * SECOND_NS / window)
    return Peak(rate, "measured", _began(busy, begin), _ended(busy, begin + window), window)


def _best(clock: Ints, tokens: np.ndarray, starts: Ints, window: int) -> tuple[float, int]:
    """The most tokens that came within a window that starts at one of `starts`, in order, and the
    first such start."""
    gained = np.interp(starts + window, clock, tokens) - np.interp(starts, clock, tokens)
    best = int(np.argmax(gained))
    return float(gained[best]), int(starts[best])


def _cumulative(emitting: pl.DataFrame, from_ns: int, to_ns: int) -> tuple[Ints, np.ndarray]:
    """Tokens emitted up to each edge within the span, by requests that emit at a constant rate."""
    first, last = emitting["first"].to_numpy(), emitting["end_ns"].to_numpy()
    share = emitting["output_tokens"].to_numpy() / emitting["n_cards"].to_numpy()
    rate = share / (last - first)
    first, last = np.clip(first, from_ns, to_ns), np.clip(last, from_ns, to_ns)
    edges = distinct(np.concatenate((first, last)))
    change = np.zeros(len(edges))
    np.add.at(change, np.searchsorted(edges, first), rate)
    np.add.at(change, np.searchsorted(edges, last), -rate)
    grown = np.cumsum(change)[:-1] * np.diff(edges)
    return edges, np.concatenate(([0.0], np.cumsum(np.maximum(grown, 0.0))))


def _busy_clock(busy: Ints, at: Ints) -> Ints:
    """Busy time elapsed at each instant."""
    before = np.concatenate(([0], np.cumsum(busy[:, 1] - busy[:, 0])))
    index = np.searchsorted(busy[:, 0], at, side="right") - 1
    inside = np.minimum(at, busy[index, 1]) - busy[index, 0]
    return np.asarray(before[index] + inside, dtype=np.int64)


def _ended(busy: Ints, clock: int) -> int:
    """The instant at which this much busy time had elapsed."""
    after = np.cumsum(busy[:, 1] - busy[:, 0])
    index = int(np.searchsorted(after, clock))
    return int(busy[index, 1] - (after[index] - clock))


def _began(busy: Ints, clock: int) -> int:
    """The instant at which busy time went on from there."""
    before = np.concatenate(([0], np.cumsum(busy[:, 1] - busy[:, 0])[:-1]))
    index = int(np.searchsorted(before, clock, side="right")) - 1
    return int(busy[index, 0] + (clock - before[index]))


@dataclass(frozen=True)
class Layers:
    """Exact ratios; None where a denominator is zero. Their product × Σ r·capacity = tokens."""

    hours: Fraction | None
    occupancy: Fraction | None
    throughput: Fraction | None
    rated_capacity: Fraction

    @property
    def product(self) -> Fraction | None:
        """What the layers and the capacity multiply to; None where a layer has no denominator."""
        if self.hours is None or self.occupancy is None or self.throughput is None:
            return None
        return self.hours * self.occupancy * self.throughput * self.rated_capacity

    def as_floats(self) -> dict[str, float | None]:
        """For showing."""
        ratios = {"hours": self.hours, "occupancy": self.occupancy, "throughput": self.throughput}
        return {name: None if ratio is None else float(ratio) for name, ratio in ratios.items()}


def layers(ns: pl.DataFrame, found: Mapping[str, Peak], output_tokens: int | None) -> Layers:
    """The three layers from time by card and state (card, state, ns), cards weighted by peak.

    Without any peak rate all cards weigh the same; without known tokens there is no throughput.
    """
    plain = Peak(MTOK, "none")
    capacity = active = busy = 0  # millionths of a token × ns
    for card, state, time in ns.select("card", "state", "ns").iter_rows():
        rated = found.get(card, plain).utok_per_s * time
        capacity += rated
        active += rated if state in ACTIVE else 0
        busy += rated if state == "busy" else 0
    throughput = None
    if output_tokens is not None and busy and found:
        throughput = Fraction(output_tokens * MTOK * SECOND_NS, busy)
    return Layers(
        hours=Fraction(active, capacity) if capacity else None,
        occupancy=Fraction(busy, active) if active else None,
        throughput=throughput,
        rated_capacity=Fraction(capacity, MTOK * SECOND_NS),
    )


def throughput(
    ns: Mapping[str, int], found: Mapping[str, Peak], output_tokens: int
) -> Fraction | None:
    """Tokens ÷ what the cards' peaks would have put out in their time, ns by card."""
    rated = sum(found[card].utok_per_s * time for card, time in ns.items() if card in found)
    return Fraction(output_tokens * MTOK * SECOND_NS, rated) if rated else None


def waterfall(
    cost: Mapping[str, int],
    unassigned: int,
    throughput: Fraction | None,
    output_tokens: int | None,
) -> list[dict[str, object]] | None:
    """Each state's cost per million output tokens; the steps sum to the full price exactly.

    Without a peak rate all busy cost stands at peak. None when no token is known to be put out.
    """
    found = steps({**cost, "unassigned": unassigned}, throughput, output_tokens)
    if found is None:
        return None
    return [{"step": step, "nano_per_mtok": nano} for step, nano in found.items()]


def steps(
    cost: Mapping[str, int], throughput: Fraction | None, output_tokens: int | None
) -> dict[str, int] | None:
    """The waterfall's steps by name, of those costs that are given."""
    if not output_tokens:
        return None
    at_peak = cost["busy"] if throughput is None else int(cost["busy"] * throughput)
    parts = {**cost, "at_peak": at_peak, "below_peak": cost["busy"] - at_peak}
    running, priced, found = 0, 0, {}
    for step in WATERFALL:
        if step in parts:
            running += parts[step]
            reached = per_mtok_nano(running, output_tokens)
            found[step] = reached - priced
            priced = reached
    return found


def per_mtok_nano(nano: int | Fraction, tokens: int) -> int:
    """Nano-units per million tokens, rounded half up. `tokens` must be positive."""
    return int((2 * nano * MTOK + tokens) // (2 * tokens))
