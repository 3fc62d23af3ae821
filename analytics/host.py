"""What befell the host, as the books need it: when it was off, and which time was told twice.

After its wall clock was set back, a host lives through the same wall time again, and its
witnesses tell it twice. The books have room for it once: requests and witnesses of both tellings
count together, so busy time is a union and never doubled; readings and engines' words of that
time are left out, as their order cannot be told. An energy counter bridges it and loses nothing;
power alone leaves it unknown.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from analytics.intervals import EMPTY, Ints, inside, union
from analytics.states import BUCKET_NS

# After a longer step the old time lies too far away to be met again soon.
TWICE_MAX_NS = 2 * 96 * BUCKET_NS


@dataclass(frozen=True)
class HostFacts:
    """off: shown to be off or suspended; twice: told twice (interval sets, ns).

    breaks: instants across which power is not interpolated (a boot, a sleep's begin, a step),
    sorted. steps: (instant by the new clock, signed step), ns, in order of that instant.
    """

    off: Ints
    twice: Ints
    breaks: Ints
    steps: list[tuple[int, int]]

    def once(self, frame: pl.DataFrame) -> pl.DataFrame:
        """A frame without the rows whose `at_ns` lies in a time told twice."""
        return frame.filter(~inside(self.twice, frame["at_ns"].to_numpy()))


UNDISTURBED = HostFacts(EMPTY, EMPTY, EMPTY[:, 0], [])


def host_facts(events: pl.DataFrame) -> HostFacts:
    """The facts from the rows of the query `host_events`."""
    rows = list(events.iter_rows(named=True))
    away = [row for row in rows if row["what"] != "clock_step"]
    offs = [(row["at_ns"] - (row["duration_ns"] or 0), row["at_ns"]) for row in away]
    stepped = [row for row in rows if row["what"] == "clock_step" and row["duration_ns"]]
    breaks = [bound for row, off in zip(away, offs, strict=True) for bound in _breaks(row, off)]
    return HostFacts(
        off=_union(offs),
        twice=_union(list(_twice(rows))),
        breaks=np.unique(np.array(breaks + [row["at_ns"] for row in stepped], dtype=np.int64)),
        steps=sorted((row["at_ns"], row["duration_ns"]) for row in stepped),
    )


def _breaks(row: dict[str, Any], off: tuple[int, int]) -> tuple[int, ...]:
    # A sleep's end is told late, by then readings go on.
    return off if row["what"] == "boot" else off[:1]


def _union(spans: list[tuple[int, int]]) -> Ints:
    if not spans:
        return EMPTY
    starts, ends = np.array(spans, dtype=np.int64).T
    return union(starts, ends)


def _twice(rows: list[dict[str, Any]]) -> Iterator[tuple[int, int]]:
    """From each step back to where the old clock had come, but only since it told anything."""
    for boot_id in {row["boot_id"] for row in rows}:
        own = [row for row in rows if row["boot_id"] == boot_id]
        steps = [
            (row["at_ns"], row["duration_ns"])
            for row in own
            if row["what"] == "clock_step" and row["duration_ns"]
        ]
        boots = [row["at_ns"] for row in own if row["what"] == "boot"] if boot_id else []
        for number, (at_ns, step_ns) in enumerate(steps):
            if not -TWICE_MAX_NS <= step_ns < 0:
                continue
            # The boot is told by the newest clock; by the clock that was set first it began here.
            since = [at - sum(step for _, step in steps) for at in boots]
            if number and boot_id:
                since = [steps[number - 1][0]]
            yield max([at_ns, *since]), at_ns - step_ns
