"""The only reader: named SQL over a consistent view of the ledger, as Polars frames."""

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

    def frame(self, query: str, from_ns: int, to_ns: int) -> pl.DataFrame:
        """Run `queries/<query>.sql` over events placed in [from_ns, to_ns).

        The query's first line names the event kind that it reads; that kind is a view over the
        sealed and the hot rows without those a later revision replaced.
        """
        sql = _sql(query)
        kind = sql.splitlines()[0].removeprefix("-- reads:").strip()
        with duckdb.connect(":memory:") as connection:
            _view(connection, kind, snapshot(self.path, kind, from_ns, to_ns))
            parameters = {"from_ns": from_ns, "to_ns": to_ns}
            found: pl.DataFrame = connection.sql(sql, params=parameters).pl()
            return found


@cache
def _sql(query: str) -> str:
    return (files("analytics") / "queries" / f"{query}.sql").read_text(encoding="utf-8")


def _view(connection: duckdb.DuckDBPyConnection, kind: str, found: Snapshot) -> None:
    """Register one kind's rows as a view of its name."""
    names = ", ".join(f'"{name}"' for name in schema(kind).names)
    connection.register("hot", found.hot)
    connection.register("superseded", found.superseded)
    # Names come from the contract and paths from the manifest; neither is anyone's input.
    sources = [f"SELECT {names} FROM hot"]  # noqa: S608
    if found.files:
        paths = ", ".join("'" + str(file).replace("'", "''") + "'" for file in found.files)
        sources.append(
            f"SELECT {names} FROM read_parquet([{paths}], hive_partitioning = false)"  # noqa: S608
        )
    every = " UNION ALL ".join(sources)
    connection.execute(
        f"CREATE VIEW {kind} AS SELECT * FROM ({every}) AS events"  # noqa: S608
        " ANTI JOIN superseded USING (source, event_id, revision)"
    )
