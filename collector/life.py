"""What the ledger already knows of its host's boots and signs of life."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from collector.clock import SECOND_NS
from collector.columns import time_column
from collector.events import INT64_MAX
from collector.snapshot import snapshot

DAY_NS = 86_400 * SECOND_NS
WINDOWS_NS = (DAY_NS, 30 * DAY_NS, INT64_MAX)
ALIVE = ("heartbeat", "sample", "engine", "attempt")


@dataclass(frozen=True)
class Life:
    """The newest sign of life of an earlier boot, ns since the epoch, and the id of that boot."""

    at_ns: int
    boot_id: str | None


@dataclass(frozen=True)
class Told:
    """A host event as the ledger has it."""

    what: str
    at_ns: int
    event_id: str
    revision: int
    boot_id: str | None
    duration_ns: int | None


def host_events(path: Path, rig: str) -> list[Told]:
    """The host events of a rig, in time order; of each the newest revision.

    Raises what `snapshot` raises.
    """
    columns = ["at_ns", "what", "event_id", "revision", "boot_id", "duration_ns"]
    newest: dict[str, Told] = {}
    for table in _tables(path, "host", 0, rig, columns):
        for row in table.to_pylist():
            known = newest.get(row["event_id"])
            if known is None or known.revision < row["revision"]:
                newest[row["event_id"]] = Told(**row)
    return sorted(newest.values(), key=lambda told: told.at_ns)


def last_life(path: Path, rig: str, boot_id: str, now_ns: int) -> Life | None:
    """The newest event of a rig that an earlier boot told; None where there is none.

    An attempt lives until its end. Raises what `snapshot` raises.
    """
    for window_ns in WINDOWS_NS:
        found = [
            life
            for kind in ALIVE
            for life in _lives(path, kind, max(0, now_ns - window_ns), rig, boot_id)
        ]
        if found:
            return max(found, key=lambda life: life.at_ns)
    return None


def _lives(path: Path, kind: str, from_ns: int, rig: str, boot_id: str) -> Iterator[Life]:
    placed = time_column(kind)
    lasting = ["duration_ns"] if kind == "attempt" else []
    for table in _tables(path, kind, from_ns, rig, [placed, "boot_id", *lasting]):
        ids = table["boot_id"]
        earlier = table.filter(pc.and_(pc.is_valid(ids), pc.not_equal(ids, boot_id)))
        if not len(earlier):
            continue
        ends = earlier[placed]
        if lasting:
            ends = pc.add(ends, earlier["duration_ns"])
        newest = pc.index(ends, pc.max(ends)).as_py()
        yield Life(ends[newest].as_py(), earlier["boot_id"][newest].as_py())


def _tables(
    path: Path, kind: str, from_ns: int, rig: str, columns: list[str]
) -> Iterator[pa.Table]:
    """The rows of a rig from an instant on, hot and sealed; a damaged file is passed over."""
    seen = snapshot(path, kind, from_ns, INT64_MAX)
    placed = time_column(kind)
    wanted = (pc.field("rig") == rig) & (pc.field(placed) >= from_ns)
    yield seen.hot.filter(wanted).select(columns)
    for file in seen.files:
        try:
            yield pq.read_table(file, columns=columns, filters=wanted, partitioning=None)
        except (OSError, pa.ArrowException):
            continue


def of_boot(events: list[Told], what: str, boot_id: str | None) -> Told | None:
    """The last of the events that tells this of a boot."""
    found: list[Any] = [told for told in events if (told.what, told.boot_id) == (what, boot_id)]
    return found[-1] if found else None
