"""The wall's energy adds up however it is cut."""

from itertools import pairwise
from typing import Any

import numpy as np
import polars as pl
from hypothesis import given
from hypothesis import strategies as st
from rig.ledger import SECOND, START

from analytics.energy import readings
from analytics.wall import MOST_MW, cut_at, wall
from collector.settings import Meter, Settings

METER = Meter(name="plug", kind="shelly", url="http://192.0.2.1")
BUCKET = 900 * SECOND


def told(counts: list[tuple[int, int]]) -> pl.DataFrame:
    """Readings of one meter from (seconds since the last one, µJ gained)."""
    at, total, rows = START, 10**9, []
    for seconds, gained in [(0, 0), *counts]:
        at, total = at + seconds * SECOND + seconds % 7, total + gained
        rows.append(("plug", "meters", "shelly", at, None, total, "e", None, None))
    schema = {
        "card": pl.String, "source": pl.String, "sensor": pl.String, "at_ns": pl.Int64,
        "power_mw": pl.Int64, "energy_uj_total": pl.Int64, "counter_epoch": pl.String,
        "util_pct": pl.Int64, "foreign_processes": pl.Int64,
    }  # fmt: skip
    return readings(pl.DataFrame(rows, schema=schema, orient="row"), most_mw=MOST_MW)


steps = st.lists(st.tuples(st.integers(1, 4000), st.integers(0, 10**9)), min_size=1, max_size=30)


@given(steps, st.lists(st.integers(0, 200), max_size=4))
def test_energy_adds_up_at_any_cut(counts: list[tuple[int, int]], cuts: list[int]) -> None:
    """A span's energy is that of its parts, and the whole of what the counter gained."""
    intervals = told(counts)
    made = Settings(meters=[METER])
    first, last = int(intervals["from_ns"].min()), int(intervals["at_ns"].max())  # type: ignore[arg-type]
    low, high = first // BUCKET * BUCKET, (last // BUCKET + 1) * BUCKET
    whole = wall(made, intervals, low, high)
    assert sum(whole.energy_uj.values()) == sum(gained for _, gained in counts)
    assert sum(whole.known_ns.values()) == last - first
    bounds = sorted({low, high, *(low + n * BUCKET for n in cuts if low + n * BUCKET < high)})
    parts: dict[int, int] = {}
    for start, end in pairwise(bounds):
        parts |= wall(made, intervals, start, end).energy_uj
    assert parts == whole.energy_uj


bound = st.integers(0, 50)
spans = st.lists(st.tuples(bound, bound).filter(lambda pair: pair[0] < pair[1]), max_size=6)


@given(spans, spans)
def test_segments_cut_anywhere_cover_the_same_time(segments: Any, others: Any) -> None:
    frame = pl.DataFrame(
        [(n, a, b) for n, (a, b) in enumerate(segments)],
        schema={"name": pl.Int64, "start_ns": pl.Int64, "end_ns": pl.Int64},
        orient="row",
    )
    sets = [np.array(others, dtype=np.int64)] if others else []
    cut = cut_at(frame, sets)
    assert (cut["end_ns"] > cut["start_ns"]).all()
    for n, (a, b) in enumerate(segments):
        edges = sorted({a, b, *(t for pair in others for t in pair if a < t < b)})
        own = cut.filter(name=n).sort("start_ns")
        assert own["start_ns"].to_list() == edges[:-1]
        assert own["end_ns"].to_list() == edges[1:]
