"""Interval sets on the time line: sorted, disjoint, half-open, int64 ns.

An interval set is an (n, 2) int64 array of [start, end). Every function is pure and returns one
in that form; `inside` and `measure` ask questions of it.
"""

from collections.abc import Iterable

import numpy as np
from numpy.typing import NDArray

Ints = NDArray[np.int64]
Flags = NDArray[np.bool_]

EMPTY: Ints = np.empty((0, 2), dtype=np.int64)


def union(starts: Ints, ends: Ints) -> Ints:
    """The union of any intervals, in any order; empty and reversed ones count for nothing."""
    keep = ends > starts
    starts, ends = starts[keep], ends[keep]
    if not len(starts):
        return EMPTY
    order = np.argsort(starts, kind="stable")
    starts, ends = starts[order], np.maximum.accumulate(ends[order])
    first = np.concatenate(([True], starts[1:] > ends[:-1]))
    last = np.concatenate((first[1:], [True]))
    return np.column_stack((starts[first], ends[last]))


def union_of(sets: Iterable[Ints]) -> Ints:
    """The union of several interval sets."""
    stacked = np.concatenate([EMPTY, *sets])
    return union(stacked[:, 0], stacked[:, 1])


def clip(intervals: Ints, start: int, end: int) -> Ints:
    """The part of a set that lies within [start, end)."""
    cut = np.clip(intervals, start, end)
    return cut[cut[:, 1] > cut[:, 0]]


def intersect(left: Ints, right: Ints) -> Ints:
    """What lies in both sets."""
    edges = edges_of([left, right])
    if len(edges) < 2:
        return EMPTY
    both = inside(left, edges[:-1]) & inside(right, edges[:-1])
    return union(edges[:-1][both], edges[1:][both])


def subtract(left: Ints, right: Ints) -> Ints:
    """What lies in the first set and not in the second."""
    edges = edges_of([left, right])
    if len(edges) < 2:
        return EMPTY
    alone = inside(left, edges[:-1]) & ~inside(right, edges[:-1])
    return union(edges[:-1][alone], edges[1:][alone])


def fill_gaps(intervals: Ints, gap_ns: int) -> Ints:
    """The set with every gap shorter than `gap_ns` filled; nothing is added at the ends."""
    if not len(intervals):
        return EMPTY
    first = np.concatenate(([True], intervals[1:, 0] - intervals[:-1, 1] >= gap_ns))
    last = np.concatenate((first[1:], [True]))
    return np.column_stack((intervals[first, 0], intervals[last, 1]))


def distinct(values: Ints) -> Ints:
    """Every value once, in order: by sorting, which for instants is faster than by hashing."""
    ordered = np.sort(values)
    found: Ints = ordered[np.concatenate(([True], ordered[1:] > ordered[:-1]))[: len(ordered)]]
    return found


def edges_of(sets: Iterable[Ints]) -> Ints:
    """Every start and end of several sets, sorted, each once."""
    return distinct(np.concatenate([EMPTY.ravel(), *(s.ravel() for s in sets)]))


def inside(intervals: Ints, points: Ints) -> Flags:
    """For each point, whether the set contains it (starts belong to it, ends do not)."""
    found: Ints = np.searchsorted(intervals.ravel(), points, side="right")
    odd: Flags = found % 2 == 1
    return odd


def measure(intervals: Ints) -> int:
    """The length of a set, ns."""
    return int((intervals[:, 1] - intervals[:, 0]).sum())
