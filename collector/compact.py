"""Compaction: many small sealed files of a kind and month become one, without replaced rows.

Like a seal it writes aside, makes durable, renames, and lists in one transaction. The old files
stay on disk for a while: a reader's list may still name them.
"""

import logging
import sqlite3
from collections.abc import Iterator
from itertools import chain, groupby, pairwise
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from collector import damage
from collector.clock import SECOND_NS, now_ns
from collector.columns import schema, time_column
from collector.repair import LISTED, VERSION, Listed
from collector.seal import Segment, enlist, write_segment

log = logging.getLogger(__name__)
SMALL_FILES = 8  # so many make a merge worth its writing
# Of a merged file, as it lies on disk.
ROWS = 200_000
FILE_B = 128 << 20
# These bound the memory of a merge.
PART_ROWS = 25_000
PART_B = 16 << 20
ELEMENT_B = 20  # an element of a list takes some so many in memory, however well it is encoded
RETIRED_NS = 15 * 60 * SECOND_NS


def groups(segments: list[Listed], small_files: int) -> Iterator[list[Listed]]:
    """Which files to merge: of one kind and month, side by side in time, at most ROWS rows and
    FILE_B bytes.

    A file of more than half of either is left alone; so no row is written more than a few times,
    however long the month is.
    """
    small = [each for each in segments if _share(each) <= 0.5]
    small.sort(key=lambda segment: (segment.kind, segment.month, segment.min_ns))
    for _, some in groupby(small, key=lambda segment: (segment.kind, segment.month)):
        group: list[Listed] = []
        rows = size_b = 0
        for segment in some:
            rows, size_b = rows + segment.rows, size_b + (segment.size_b or 0)
            if group and (rows > ROWS or size_b > FILE_B):
                if len(group) > 1:
                    yield group
                group, rows, size_b = [], segment.rows, segment.size_b or 0
            group.append(segment)
        if len(group) >= small_files:
            yield group


def _share(segment: Listed) -> float:
    """How much of a merged file's bounds a file takes up alone."""
    return max(segment.rows / ROWS, (segment.size_b or 0) / FILE_B)


def listed(db: sqlite3.Connection) -> list[Listed]:
    """Every sealed file that counts."""
    return [Listed(*row) for row in db.execute(LISTED)]


def flaws(folder: Path, group: list[Listed]) -> list[tuple[Listed, str]]:
    """The files that are not, to the byte, as they were sealed, each with what is wrong."""
    seen = [(segment, damage.verify(folder / segment.file, segment.sha256)) for segment in group]
    return [(segment, what) for segment, what in seen if what is not None]


def merge(
    folder: Path, group: list[Listed], replaced: set[tuple[str, str, int]]
) -> tuple[list[Segment], list[tuple[str, str, int]]]:
    """Write the group's rows anew; returns the file (none without rows) and the rows dropped.

    Raises OSError; leaves nothing then.
    """
    dropped: list[tuple[str, str, int]] = []
    parts = _parts(folder, group, replaced, dropped)
    first = next(parts, None)
    if first is None:
        return [], dropped
    merged = write_segment(folder, group[0].kind, group[0].month, chain([first], parts))
    return [merged], dropped


def _parts(
    folder: Path,
    group: list[Listed],
    replaced: set[tuple[str, str, int]],
    dropped: list[tuple[str, str, int]],
) -> Iterator[pa.Table]:
    """The rows to keep, a stretch of time after the other; `dropped` fills meanwhile."""
    column = time_column(group[0].kind)
    for low_ns, high_ns in _stretches(folder, group):
        within = [(column, ">=", low_ns), (column, "<", high_ns)]
        near = [each for each in group if each.max_ns >= low_ns and each.min_ns < high_ns]
        tables = [
            pq.read_table(
                folder / each.file,
                columns=schema(each.kind).names,
                filters=within,
                partitioning=None,
            )
            for each in near
        ]
        rows = pa.concat_tables(tables).sort_by(column)
        if replaced:
            versions = list(zip(*(rows[name].to_pylist() for name in VERSION), strict=True))
            dropped += [version for version in versions if version in replaced]
            keep = [version not in replaced for version in versions]
            rows = rows.filter(pa.array(keep, pa.bool_()))
        if rows.num_rows:
            yield rows


def _stretches(folder: Path, group: list[Listed]) -> Iterator[tuple[int, int]]:
    """Stretches of time (half open) from first row to last, of some PART_ROWS rows and PART_B bytes
    at most, but for rows of one instant."""
    found = [_sized(folder / each.file, time_column(each.kind)) for each in group]
    instants = np.concatenate([instants for instants, _ in found])
    order = np.argsort(instants, kind="stable")
    instants = instants[order]
    sizes_b = np.concatenate([sizes for _, sizes in found])[order]
    before_b = np.cumsum(sizes_b) - sizes_b
    parts = np.stack([np.arange(len(instants)) // PART_ROWS, before_b // PART_B])
    begins = np.flatnonzero(np.diff(parts, prepend=-1).any(axis=0))
    bounds = np.unique(instants[begins]).tolist()
    yield from pairwise([*bounds, int(instants[-1]) + 1])


def _sized(file: Path, column: str) -> tuple[np.ndarray, np.ndarray]:
    """The instant of each row, and about how many bytes it takes in memory."""
    instants, sizes_b = [], []
    with pq.ParquetFile(file) as parquet:
        for number in range(parquet.num_row_groups):
            group = parquet.metadata.row_group(number)
            values = [group.column(n).num_values for n in range(group.num_columns)]
            elements = sum(max(0, count - group.num_rows) for count in values)
            row_b = max(group.total_byte_size, ELEMENT_B * elements) // group.num_rows
            instants.append(parquet.read_row_group(number, [column])[column].to_numpy())
            sizes_b.append(np.full(group.num_rows, row_b))
    return np.concatenate(instants), np.concatenate(sizes_b)


def replaced_versions(db: sqlite3.Connection, kind: str) -> set[tuple[str, str, int]]:
    """Versions of a kind that a higher revision has replaced and that are still in some file."""
    query = "SELECT source, event_id, revision FROM superseded WHERE kind = ? AND dropped = 0"
    return set(db.execute(query, (kind,)))


def record(
    db: sqlite3.Connection,
    group: list[Listed],
    merged: list[Segment],
    dropped: list[tuple[str, str, int]],
) -> None:
    """The merged file in, its parts out, inside the caller's transaction."""
    db.executemany("DELETE FROM segment WHERE id = ?", [(each.id,) for each in group])
    enlist(db, merged)
    at_ns = now_ns()
    db.executemany("INSERT INTO retired VALUES (?, ?)", [(each.file, at_ns) for each in group])
    mark = "UPDATE superseded SET dropped = 1 WHERE source = ? AND event_id = ? AND revision = ?"
    db.executemany(mark, dropped)


def due(db: sqlite3.Connection, before_ns: int) -> list[str]:
    """Retired files that no reader can still need."""
    query = "SELECT file FROM retired WHERE at_ns <= ? ORDER BY file"
    return [file for (file,) in db.execute(query, (before_ns,))]
