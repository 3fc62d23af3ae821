"""The ledger's face: a tiny DuckDB file that any client can open, at any time, from any folder.

It holds a view per kind over the sealed files and a copy of the rows that were hot when it was
made. It is built aside and renamed into place, so nobody ever waits for anybody.
"""

import os
from pathlib import Path
from uuid import uuid4

import duckdb

from collector.columns import TIME_FIELD, schema, time_column
from collector.events import KINDS
from collector.snapshot import Snapshot, snapshots

FACE = "rigledger.duckdb"
EVER = (-(2**63), 2**63 - 1)
# The oldest form that holds what is needed: older clients can open it, too.
STORAGE = "v1.0.0"
# AT is a keyword: a column of that name would have to be quoted in every query.
INSTANT = {kind: "at_time" if name == "at" else name for kind, name in TIME_FIELD.items()}


def build(folder: Path) -> None:
    """Make the face anew from what the ledger holds now.

    Each view has the columns of the data dictionary and its instant as a TIMESTAMP in UTC
    (`received_at` of an attempt, `at_time` of the others); replaced rows are left out. Raises
    OSError, duckdb.Error, LedgerError; the former face stays then.
    """
    found = snapshots(folder, KINDS, *EVER)
    aside = folder / f"{FACE}-{uuid4().hex}.tmp"
    try:
        with duckdb.connect(config={"threads": 1, "memory_limit": "128MB"}) as connection:
            options = f"(STORAGE_VERSION '{STORAGE}')"
            connection.execute(f"ATTACH {_quoted(aside)} AS face {options}")
            aside.chmod(0o600)
            connection.execute("USE face")
            connection.execute("CREATE SCHEMA hot")
            connection.execute("CREATE SCHEMA superseded")
            for kind, seen in found.items():
                _add(connection, folder, kind, seen)
            connection.execute("USE memory")
            connection.execute("DETACH face")  # writes everything into the one file
        with aside.open("rb") as file:
            os.fsync(file.fileno())
        aside.rename(folder / FACE)
    finally:
        for left in (aside, aside.with_name(f"{aside.name}.wal")):
            left.unlink(missing_ok=True)


def sweep(folder: Path) -> None:
    """Remove what a crash left of a face half built. Only the folder's writer may call it."""
    for left in folder.glob(f"{FACE}-*.tmp*"):
        left.unlink()


def _add(connection: duckdb.DuckDBPyConnection, folder: Path, kind: str, seen: Snapshot) -> None:
    """Names come from the contract and paths from the manifest; neither is anyone's input."""
    for name, table in (("hot", seen.hot), ("superseded", seen.superseded)):
        connection.register("told", table)
        connection.execute(f"CREATE TABLE {name}.{kind} AS FROM told")
        connection.unregister("told")
    names = ", ".join(f'"{name}"' for name in schema(kind).names)
    sources = [f"SELECT {names} FROM hot.{kind}"]  # noqa: S608
    if seen.files:
        paths = ", ".join(_quoted(file.absolute()) for file in seen.files)
        sources.append(
            f"SELECT {names} FROM read_parquet([{paths}], hive_partitioning = false)"  # noqa: S608
        )
    connection.execute(
        f"CREATE VIEW {kind} AS SELECT *,"  # noqa: S608
        f" make_timestamp({time_column(kind)} // 1000) AS {INSTANT[kind]}"
        f" FROM ({' UNION ALL '.join(sources)}) AS events"
        f" ANTI JOIN superseded.{kind} USING (source, event_id, revision)"
    )


def _quoted(path: Path) -> str:
    return "'" + str(path).replace("'", "''") + "'"
