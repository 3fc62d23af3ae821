"""The wall: what the declared meters together counted, by 15-minute bucket.

A wall meter contains the cards and the power supply's loss. Where several are declared they add
up, and the wall is known only while each of them in force was read.
"""

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import polars as pl

from analytics.evidence import GAP_PERIODS
from analytics.intervals import EMPTY, Ints, distinct, intersect, union, union_of
from analytics.states import BUCKET_NS
from collector.settings import Settings

MOST_MW = 100_000_000  # no socket gives more
FOR_EVER = int(np.iinfo(np.int64).max)


@dataclass(frozen=True)
class Wall:
    """known: when every meter in force was read; pending: the end of the present that waits for
    a reading not yet due; declared: when any meter is in force (interval sets, ns). By bucket:
    energy_uj at the wall while known, and known_ns."""

    known: Ints
    pending: Ints
    declared: Ints
    energy_uj: dict[int, int]
    known_ns: dict[int, int]


@dataclass(frozen=True)
class _Counted:
    """A meter's intervals of known energy, disjoint and in order, and the energy before each."""

    start: Ints
    end: Ints
    energy_uj: Ints
    before_uj: Ints

    def upto(self, at: int) -> int:
        """Energy counted up to an instant, within an interval by time, floored."""
        index = int(np.searchsorted(self.start, at, side="left")) - 1
        if index < 0:
            return 0
        start, end, energy = (int(a[index]) for a in (self.start, self.end, self.energy_uj))
        return int(self.before_uj[index]) + energy * (min(at, end) - start) // (end - start)


def wall(settings: Settings, intervals: pl.DataFrame, from_ns: int, to_ns: int) -> Wall:
    """What the meters told of [from_ns, to_ns), from the `energy.readings` of the wall."""
    meters = {name: _counted(intervals.filter(card=name)) for name in _spans(settings)}
    energy: dict[int, int] = defaultdict(int)
    ns: dict[int, int] = defaultdict(int)
    known, declared = [EMPTY], [EMPTY]
    for start, end, names in _stretches(settings, from_ns, to_ns):
        stretch = np.array([[start, end]], dtype=np.int64)
        declared.append(stretch)
        for name in names:
            stretch = intersect(stretch, union(meters[name].start, meters[name].end))
        known.append(stretch)
        for a, b in _by_bucket(stretch):
            bucket = a // BUCKET_NS * BUCKET_NS
            ns[bucket] += b - a
            energy[bucket] += sum(meters[name].upto(b) - meters[name].upto(a) for name in names)
    every = union_of(known)
    return Wall(every, _pending(every, intervals, to_ns), union_of(declared), energy, ns)


def _counted(intervals: pl.DataFrame) -> _Counted:
    told = intervals.filter(pl.col("energy_uj").is_not_null()).sort("from_ns")
    energy = told["energy_uj"].to_numpy()
    before: Ints = np.cumsum(energy, dtype=np.int64) - energy
    return _Counted(told["from_ns"].to_numpy(), told["at_ns"].to_numpy(), energy, before)


def _spans(settings: Settings) -> dict[str, list[tuple[int, int]]]:
    """When each meter, by name, is in force: its later entry ends the earlier one."""
    entries = sorted(settings.meters, key=lambda meter: meter.from_)
    found: dict[str, list[tuple[int, int]]] = {}
    for number, meter in enumerate(entries):
        next_ = next((m.from_ for m in entries[number + 1 :] if m.name == meter.name), None)
        last = min((day for day in (meter.until, next_) if day is not None), default=None)
        end = FOR_EVER if last is None else settings.midnight_ns(last)
        found.setdefault(meter.name, []).append((settings.midnight_ns(meter.from_), end))
    return found


def _stretches(
    settings: Settings, from_ns: int, to_ns: int
) -> Iterator[tuple[int, int, list[str]]]:
    """Stretches of a span in which the same meters are in force, where any is."""
    spans = _spans(settings)
    bounds = {bound for own in spans.values() for span in own for bound in span}
    cuts = sorted({from_ns, to_ns, *(b for b in bounds if from_ns < b < to_ns)})
    for start, end in pairwise(cuts):
        names = [n for n, own in spans.items() if any(a <= start < b for a, b in own)]
        if names:
            yield start, end, names


def _by_bucket(intervals: Ints) -> Iterator[tuple[int, int]]:
    for start, end in intervals.tolist():
        inner = range((start // BUCKET_NS + 1) * BUCKET_NS, end, BUCKET_NS)
        yield from pairwise([start, *inner, end])


def _pending(known: Ints, intervals: pl.DataFrame, to_ns: int) -> Ints:
    """The time since the last reading, at a present end that waits for the next one."""
    if to_ns % BUCKET_NS == 0 or not len(known):
        return EMPTY
    last = int(known[-1, 1])
    usual = intervals.filter(pl.col("at_ns") == last).select(pl.col("at_ns") - pl.col("from_ns"))
    due = usual.max().item() if len(usual) else 0
    overdue = to_ns - last > GAP_PERIODS * due
    return EMPTY if overdue else union(np.array([last]), np.array([to_ns]))


def cut_at(segments: pl.DataFrame, intervals: Sequence[Ints]) -> pl.DataFrame:
    """Segments (start_ns, end_ns and more) cut wherever one of the interval sets begins or ends."""
    edges = distinct(np.concatenate([np.ravel(part) for part in [EMPTY, *intervals]]))
    if not len(edges) or segments.is_empty():
        return segments
    start, end = segments["start_ns"].to_numpy(), segments["end_ns"].to_numpy()
    low = np.searchsorted(edges, start, side="right")
    inner = np.maximum(np.searchsorted(edges, end, side="left") - low, 0)
    row = np.repeat(np.arange(len(segments)), inner + 1)
    nth = np.arange(len(row)) - np.repeat(np.cumsum(inner + 1) - (inner + 1), inner + 1)
    at = np.append(edges, FOR_EVER)
    begins = np.where(nth == 0, start[row], at[np.maximum(low[row] + nth - 1, 0)])
    ends = np.where(nth == inner[row], end[row], at[np.minimum(low[row] + nth, len(edges))])
    return segments[row].with_columns(start_ns=pl.Series(begins), end_ns=pl.Series(ends))
