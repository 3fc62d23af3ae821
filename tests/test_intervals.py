"""Interval sets against sets of integers."""

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from analytics.intervals import (
    EMPTY,
    Ints,
    clip,
    fill_gaps,
    inside,
    intersect,
    measure,
    union,
    union_of,
)

SPANS = st.lists(st.tuples(st.integers(0, 40), st.integers(0, 40)), max_size=8)
POINTS = np.arange(0, 45, dtype=np.int64)


def made(spans: list[tuple[int, int]]) -> Ints:
    starts = np.array([a for a, _ in spans], dtype=np.int64)
    ends = np.array([b for _, b in spans], dtype=np.int64)
    return union(starts, ends)


def points(spans: list[tuple[int, int]]) -> set[int]:
    return {point for a, b in spans for point in range(a, b)}


def members(intervals: Ints) -> set[int]:
    return {int(point) for a, b in intervals for point in range(a, b)}


@given(SPANS)
def test_a_union_holds_the_points_of_its_parts_in_disjoint_order(spans: list) -> None:
    found = made(spans)
    assert members(found) == points(spans)
    assert measure(found) == len(points(spans))
    bounds = found.ravel()
    assert (np.diff(bounds) > 0).all()


@given(SPANS, SPANS)
def test_intersection_and_union_of_sets(left: list, right: list) -> None:
    assert members(intersect(made(left), made(right))) == points(left) & points(right)
    assert members(union_of([made(left), made(right)])) == points(left) | points(right)


@given(SPANS)
def test_inside_is_membership(spans: list) -> None:
    held = {int(point) for point in POINTS[inside(made(spans), POINTS)]}
    assert held == points(spans)


@given(SPANS, st.integers(0, 40), st.integers(0, 40))
def test_clip_keeps_what_lies_within(spans: list, a: int, b: int) -> None:
    low, high = min(a, b), max(a, b)
    kept = {point for point in points(spans) if low <= point < high}
    assert members(clip(made(spans), low, high)) == kept


def test_gaps_shorter_than_the_limit_are_filled_and_others_kept() -> None:
    spans = made([(0, 10), (14, 20), (25, 30)])
    assert fill_gaps(spans, 5).tolist() == [[0, 20], [25, 30]]
    assert fill_gaps(spans, 6).tolist() == [[0, 30]]
    assert fill_gaps(EMPTY, 6).tolist() == []
