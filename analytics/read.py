"""The only reader: named SQL over a consistent view of the ledger, as Polars frames."""

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from importlib.resources import files
from pathlib import Path
from threading import Lock

import duckdb
import polars as pl

from collector.clock import now_ns
from collector.columns import schema
from collector.conflicts import conflicts
from collector.damage import Damage, Unreadable, said, verify
from collector.manifest import LedgerError
from collector.price_series import PriceSeries
from collector.price_series import read as read_series
from collector.settings import Settings
from collector.snapshot import Snapshot, damaged, snapshot
from collector.touched import touched

TRIES = 5  # each one sees a younger list of files


class Ledger:
    """A ledger folder. Any number of readers may hold one while the collector writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._broken: set[Path] = set()
        self._met: dict[tuple[str, str | None, int | None], Damage] = {}

    def news(self) -> tuple[str, dict[tuple[str, int], int]]:
        """The manifest's identity and the number of its last news by (kind, hour)."""
        return touched(self.path)

    def conflicts(self, from_ns: int, to_ns: int) -> int | None:
        """How many tellings of [from_ns, to_ns) were refused (`collector.conflicts`)."""
        return conflicts(self.path, from_ns, to_ns)

    def frame(self, query: str, from_ns: int, to_ns: int, **more: int) -> pl.DataFrame:
        """Run `queries/<query>.sql` over events placed in [from_ns, to_ns), with its parameters.

        The query's first line names the event kind that it reads; that kind is a view over the
        sealed and the hot rows without those a later revision replaced. A damaged file is left
        out and told by `damaged`; one that compaction has just removed is read from its successor.
        Raises LedgerError naming a file that cannot be read.
        """
        sql = _sql(query)
        kind = sql.splitlines()[0].removeprefix("-- reads:").strip()
        span = {"from_ns": from_ns, "to_ns": to_ns}
        for tries_left in reversed(range(TRIES)):
            seen = snapshot(self.path, kind, from_ns, to_ns)
            self._note(seen.damaged)
            seen = replace(seen, files=[file for file in seen.files if file not in self._broken])
            try:
                return _run(sql, kind, seen, {**span, **more})
            except duckdb.Error as error:
                if not (self._explained(kind, seen.files, from_ns, to_ns) and tries_left):
                    raise _unread(self.path, error) from error
        raise AssertionError("the last try returns or raises")

    def price_series(self, settings: Settings) -> dict[str, PriceSeries]:
        """The price series that the settings name, by path. Raises SettingsError."""
        named = {entry.series for entry in settings.electricity if entry.series is not None}
        return {path: read_series(Path(path)) for path in sorted(named)}

    def damaged(self) -> list[Damage]:
        """What the ledger tells of its damage, and what this reader has met: rows left out."""
        return [*damaged(self.path), *self._met.values()]

    def _explained(self, kind: str, files: list[Path], from_ns: int, to_ns: int) -> bool:
        """Whether a failed query met a file that is damaged or gone; the damaged are noted.

        Raises LedgerError.
        """
        listed = set(snapshot(self.path, kind, from_ns, to_ns).files)
        found = any(file not in listed and not file.exists() for file in files)
        if found:
            return True  # the younger list will do; there is no need to read every file
        for file in files:
            try:
                what = verify(file, None)
            except Unreadable as error:
                raise LedgerError(str(error)) from error
            found = found or what is not None
            if what is not None and file in listed:
                self._broken.add(file)
                name = str(file.relative_to(self.path))
                self._note([Damage(now_ns(), "segment", name, what, None, kind)])
        return found

    def _note(self, found: list[Damage]) -> None:
        self._met.update({(each.file, each.kind, each.min_ns): each for each in found})


def _unread(path: Path, error: duckdb.Error) -> Exception:
    """DuckDB names the file that it could not read; what else it says is a fault of ours."""
    if isinstance(error, duckdb.IOException):
        return LedgerError(f"{path} cannot be read now ({said(error)}): try again")
    return error


def _run(sql: str, kind: str, seen: Snapshot, parameters: dict[str, int]) -> pl.DataFrame:
    with _opening:
        connection = _database().cursor()
    with connection:
        _view(connection, kind, seen)
        found: pl.DataFrame = connection.sql(sql, params=parameters).pl()
        return found.rechunk()  # what takes rows by their number is slower on many chunks


# Starting an engine takes longer than most queries: a process has one, each query a connection.
_opening = Lock()


@cache
def _database() -> duckdb.DuckDBPyConnection:
    return duckdb.connect(":memory:")


@cache
def _sql(query: str) -> str:
    return (files("analytics") / "queries" / f"{query}.sql").read_text(encoding="utf-8")


def _view(connection: duckdb.DuckDBPyConnection, kind: str, found: Snapshot) -> None:
    """Register one kind's rows as a view of its name."""
    connection.register("hot", found.hot)
    connection.register("superseded", found.superseded)
    rows = rows_sql(kind, found.files, "hot", "superseded")
    connection.execute(f"CREATE TEMP VIEW {kind} AS {rows}")


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
