"""The same events into DuckDB and into SQLite, by the fastest plain way of each."""

import shutil
import sqlite3
import time
from collections.abc import Callable
from contextlib import closing
from pathlib import Path
from statistics import median

import duckdb
import pyarrow as pa

from bench.attempts import batches
from collector.columns import columns, to_arrow


def measure(work: Path, *, rounds: int, batches_each: int, batch: int) -> dict[str, float]:
    """Events a second by peer, one durable commit a batch."""
    folder = work / "peers"
    folder.mkdir()
    try:
        return {
            "DuckDB Arrow insert": _rate(_duckdb, folder, rounds, batches_each, batch),
            "SQLite plain rows": _rate(_sqlite, folder, rounds, batches_each, batch),
        }
    finally:
        shutil.rmtree(folder)


def _rate(
    store: Callable[[Path, list[list[pa.RecordBatch]]], list[float]],
    folder: Path,
    rounds: int,
    batches_each: int,
    batch: int,
) -> float:
    fresh = batches("bench", batch)
    ready = [
        [to_arrow("attempt", next(fresh)) for _ in range(batches_each)] for _ in range(rounds + 1)
    ]
    seconds = store(folder, ready)[1:]
    return median(batch * batches_each / each for each in seconds)


def _duckdb(folder: Path, ready: list[list[pa.RecordBatch]]) -> list[float]:
    first = pa.Table.from_batches(ready[0][:1])
    seconds = []
    with closing(duckdb.connect(str(folder / "peer.duckdb"))) as db:
        db.register("first", first)
        db.execute("CREATE TABLE attempt AS SELECT * FROM first LIMIT 0").fetchall()
        for some in ready:
            start = time.perf_counter()
            for part in some:
                db.register("part", pa.Table.from_batches([part]))
                db.execute("INSERT INTO attempt SELECT * FROM part").fetchall()
            seconds.append(time.perf_counter() - start)
    return seconds


def _sqlite(folder: Path, ready: list[list[pa.RecordBatch]]) -> list[float]:
    names = ", ".join(f'"{column.name}"' for column in columns("attempt"))
    marks = ", ".join("?" for _ in columns("attempt"))
    seconds = []
    with closing(sqlite3.connect(folder / "peer.sqlite", isolation_level=None)) as db:
        db.execute("PRAGMA journal_mode = WAL")
        db.execute("PRAGMA synchronous = FULL")
        db.execute(f"CREATE TABLE attempt ({names}, PRIMARY KEY (source, event_id))")
        for some in ready:
            plain = [_rows(part) for part in some]
            start = time.perf_counter()
            for rows in plain:
                db.execute("BEGIN IMMEDIATE")
                db.executemany(f"INSERT INTO attempt VALUES ({marks})", rows)  # noqa: S608
                db.execute("COMMIT")
            seconds.append(time.perf_counter() - start)
    return seconds


def _rows(part: pa.RecordBatch) -> list[tuple[object, ...]]:
    """Plain rows; lists as text, since SQLite knows none."""
    told = [column.to_pylist() for column in part.columns]
    return [
        tuple(str(value) if isinstance(value, list) else value for value in row)
        for row in zip(*told, strict=True)
    ]
