"""Questions of one's own: a locked, read-only DuckDB over one consistent picture of the ledger."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from analytics.read import TRIES, quoted, rows_sql
from collector.columns import TIME_FIELD, time_column
from collector.events import KINDS
from collector.settings import Settings
from collector.snapshot import Snapshot, snapshots

EVER = (-(2**63), 2**63 - 1)
_NUMBER = re.compile(r"U?(TINY|SMALL|BIG|HUGE)INT|U?INTEGER|DECIMAL.*|DOUBLE|FLOAT")
# AT is a keyword: a column of that name would have to be quoted in every query.
TIMESTAMP = {kind: "at_time" if field == "at" else field for kind, field in TIME_FIELD.items()}


class QueryError(ValueError):
    """The query cannot be answered; the message is one sentence."""


@dataclass(frozen=True)
class Answer:
    """What a query found.

    `more`: rows were left out beyond the limit; `damaged`: what could not be read, in words.
    """

    names: list[str]
    numeric: list[bool]
    rows: list[tuple[Any, ...]]
    more: bool
    damaged: list[str]


def ask(settings: Settings, query: str, limit: int | None) -> Answer:
    """Answer one SELECT over the views attempt, sample, heartbeat, engine and host.

    Each view has the columns of the data dictionary and its instant as a timestamp in the rig's
    zone: `received_at` of an attempt, `at_time` of the others. Raises QueryError;
    FileNotFoundError, LedgerError, SchemaTooNew where the ledger cannot be read.
    """
    with _sentences():
        for tries_left in reversed(range(TRIES)):
            found = snapshots(settings.store_path(), KINDS, *EVER)
            files = [file for each in found.values() for file in each.files]
            try:
                return _answer(found, files, settings.rig.time_zone, query, limit)
            except duckdb.Error:
                # The collector may just have merged a file into another; a younger list has that.
                if not tries_left or all(file.exists() for file in files):
                    raise
    raise AssertionError("the last try returns or raises")


def _answer(
    found: dict[str, Snapshot], files: list[Path], zone: str, query: str, limit: int | None
) -> Answer:
    with duckdb.connect(":memory:") as connection:
        _open(connection, found, zone)
        _lock(connection, files)
        _require_select(connection, query)
        connection.execute(query)
        rows = connection.fetchall() if limit is None else connection.fetchmany(limit + 1)
        told = connection.description or []
    more = limit is not None and len(rows) > limit
    return Answer(
        [name for name, *_ in told],
        [_is_number(str(kind)) for _, kind, *_ in told],
        rows[:limit],
        more,
        [str(damage) for each in found.values() for damage in each.damaged],
    )


def _open(connection: duckdb.DuckDBPyConnection, found: dict[str, Snapshot], zone: str) -> None:
    # The rows' own schema stays out of SHOW TABLES.
    connection.execute("CREATE SCHEMA ledger")
    connection.execute(f"SET TimeZone = '{zone}'")
    for kind, each in found.items():
        for name, table in (("hot", each.hot), ("superseded", each.superseded)):
            connection.register("told", table)
            connection.execute(f"CREATE TABLE ledger.{name}_{kind} AS FROM told")
            connection.unregister("told")
        rows = rows_sql(kind, each.files, f"ledger.hot_{kind}", f"ledger.superseded_{kind}")
        instant = f"make_timestamptz({time_column(kind)} // 1000) AS {TIMESTAMP[kind]}"
        connection.execute(f"CREATE VIEW {kind} AS SELECT *, {instant} FROM ({rows})")  # noqa: S608


def _lock(connection: duckdb.DuckDBPyConnection, files: list[Path]) -> None:
    """Nothing but the snapshot's own files can be read from here on, and nothing written."""
    connection.execute("SET python_enable_replacements = false")
    connection.execute("SET temp_directory = ''")
    connection.execute(f"SET allowed_paths = [{', '.join(map(quoted, files))}]")
    connection.execute("SET enable_external_access = false")
    connection.execute("SET lock_configuration = true")


def _require_select(connection: duckdb.DuckDBPyConnection, query: str) -> None:
    statements = connection.extract_statements(query)
    if len(statements) != 1:
        raise QueryError(f"one query at a time is answered, not {len(statements)}; write one")
    if statements[0].type != duckdb.StatementType.SELECT:
        raise QueryError(
            f"the ledger is only read here, and this is {statements[0].type.name};"
            " write SELECT, FROM, DESCRIBE, SUMMARIZE or SHOW TABLES"
        )


@contextmanager
def _sentences() -> Iterator[None]:
    """DuckDB's refusals as QueryError, in its own words."""
    try:
        yield
    except duckdb.CatalogException as error:
        sentence = _sentence(error)
        if "Table with name" not in sentence:
            raise QueryError(sentence) from None
        what = sentence.partition(" Did you mean")[0].rstrip("!")
        raise QueryError(f"{what}; the tables are {', '.join(KINDS)}") from None
    except duckdb.PermissionException as error:
        raise QueryError(f"{_sentence(error)}; only the ledger's tables can be read") from None
    except duckdb.Error as error:
        raise QueryError(_sentence(error)) from None


def _sentence(error: duckdb.Error) -> str:
    """Without the excerpt of the query that DuckDB draws below."""
    return " ".join(str(error).partition("\n\nLINE ")[0].split())


def _is_number(kind: str) -> bool:
    return _NUMBER.fullmatch(kind) is not None
