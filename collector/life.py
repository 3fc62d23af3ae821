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
    columns = ["rig", "at_ns", "what", "event_id", "revision", "boot_id", "duration_ns"]
    newest: dict[str, Told] = {}
    for table in _tables(path, "host", 0, columns):
        for row in table.to_pylist():
            known = newest.get(row["event_id"])
            if row.pop("rig") == rig and (known is None or known.revision < row["revision"]):
                newest[row["event_id"]] = Told(**row)
    return sorted(newest.values(), key=lambda told: told.at_ns)


def last_life(path: Path, rig: str, boot_id: str, now_ns: int) -> Life | None:
    """The newest event of a rig that an earlier boot told; None where there is none.

    An attempt lives until its end. Raises what `snapshot` raises.
    """
    for window_ns in WINDOWS_NS:
        since_ns = max(0, now_ns - window_ns)
        found = [
            Life(end_ns, told_by)
            for kind in ALIVE
            for told_rig, told_by, end_ns in _ends(path, kind, since_ns)
            if told_rig == rig and told_by not in {None, boot_id}
        ]
        if found:
            return max(found, key=lambda life: life.at_ns)
    return None


def _ends(path: Path, kind: str, from_ns: int) -> Iterator[tuple[str, str | None, int]]:
    """The newest sign of life of each rig and boot in files that reach beyond an instant."""
    placed = time_column(kind)
    lasting = ["duration_ns"] if kind == "attempt" else []
    for table in _tables(path, kind, from_ns, ["rig", "boot_id", placed, *lasting]):
        ends = pc.add(table[placed], table["duration_ns"]) if lasting else table[placed]
        # Grouped, not filtered: a comparison with a Python value makes pyarrow import pandas.
        whole = table.select(["rig", "boot_id"]).append_column("end_ns", ends)
        for row in whole.group_by(["rig", "boot_id"]).aggregate([("end_ns", "max")]).to_pylist():
            yield row["rig"], row["boot_id"], row["end_ns_max"]


def _tables(path: Path, kind: str, from_ns: int, columns: list[str]) -> Iterator[pa.Table]:
    """What the ledger holds of a kind from an instant on, and before it what lies in the same
    files; a damaged file is passed over."""
    seen = snapshot(path, kind, from_ns, INT64_MAX)
    yield seen.hot.select(columns)
    for file in seen.files:
        try:
            yield pq.read_table(file, columns=columns, partitioning=None)
        except (OSError, pa.ArrowException):
            continue


def of_boot(events: list[Told], what: str, boot_id: str | None) -> Told | None:
    """The last of the events that tells this of a boot."""
    found: list[Any] = [told for told in events if (told.what, told.boot_id) == (what, boot_id)]
    return found[-1] if found else None
