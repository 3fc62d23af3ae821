"""Bars on a time line: requests on the fewest lanes on which none lies over another."""

from typing import Final

import polars as pl

from analytics.requests import NAME

INSTANTS: Final = ["start_ns", "compute_ns", "split_ns", "end_ns"]


def on_lanes(rows: pl.DataFrame) -> pl.DataFrame:
    """Rows of the books (`timeline`) in order of card and arrival, each with its `lane`, from 0."""
    rows = rows.sort("card", "start_ns", *NAME)
    lanes = [lane for _, part in rows.group_by("card", maintain_order=True)
             for lane in _lanes(part["start_ns"].to_list(), part["end_ns"].to_list())]  # fmt: skip
    return rows.with_columns(lane=pl.Series(lanes, dtype=pl.Int64))


def _lanes(starts: list[int], ends: list[int]) -> list[int]:
    """The lowest free lane for each bar, in order of their starts."""
    free_ns: list[int] = []
    lanes = []
    for start, end in zip(starts, ends, strict=True):
        lane = next((at for at, until in enumerate(free_ns) if until <= start), len(free_ns))
        free_ns[lane : lane + 1] = [end]
        lanes.append(lane)
    return lanes
