"""The only reader: named SQL over a consistent view of the ledger, as Polars frames."""

from collections.abc import Sequence
from functools import cache
from importlib.resources import files
from pathlib import Path

import duckdb
import polars as pl

from collector.columns import schema
from collector.snapshot import Snapshot, snapshot


class Ledger:
    """A ledger folder. Any number of readers may hold one while the collector writes."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def frame(self, query: str, from_ns: int, to_ns: int, **more: int) -> pl.DataFrame:
        """Run `queries/<query>.sql` over events placed in [from_ns, to_ns), with its parameters.

        The query's first line names the event kind that it reads; that kind is a view over the
        sealed and the hot rows without those a later revision replaced.
        """
        sql = _sql(query)
        kind = sql.splitlines()[0].removeprefix("-- reads:").strip()
        with duckdb.connect(":memory:") as connection:
            _view(connection, kind, snapshot(self.path, kind, from_ns, to_ns))
            parameters = {"from_ns": from_ns, "to_ns": to_ns, **more}
            found: pl.DataFrame = connection.sql(sql, params=parameters).pl()
            return found


@cache
def _sql(query: str) -> str:
    return (files("analytics") / "queries" / f"{query}.sql").read_text(encoding="utf-8")


def _view(connection: duckdb.DuckDBPyConnection, kind: str, found: Snapshot) -> None:
    """Register one kind's rows as a view of its name."""
    connection.register("hot", found.hot)
    connection.register("superseded", found.superseded)
    rows = rows_sql(kind, found.files, "hot", "superseded")
    connection.execute(f"CREATE VIEW {kind} AS {rows}")


def rows_sql(kind: str, sealed: Sequence[Path], hot: str, superseded: str) -> str:
    """A query for a kind's rows: sealed files and the table `hot`, less the rows replaced."""
    # Names come from the contract and paths from the manifest; neither is anyone's input.
    names = ", ".join(f'"{name}"' for name in schema(kind).names)
    sources = [f"SELECT {names} FROM {hot}"]  # noqa: S608
    if sealed:
        paths = ", ".join(map(quoted, sealed))
        sources.append(
            f"SELECT {names} FROM read_parquet([{paths}], hive_partitioning = false)"  # noqa: S608
        )
    every = " UNION ALL ".join(sources)
    return (
        f"SELECT * FROM ({every}) AS events"  # noqa: S608
        f" ANTI JOIN {superseded} USING (source, event_id, revision)"
    )


def quoted(path: Path) -> str:
    """A path as an SQL text."""
    return "'" + str(path).replace("'", "''") + "'"
