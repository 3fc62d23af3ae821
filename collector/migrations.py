"""Brings a manifest to the schema that this program knows, one recorded step at a time."""

import sqlite3
from pathlib import Path

SCHEMA = Path(__file__).parent / "schema"
CREATE_RECORD = "CREATE TABLE IF NOT EXISTS migration (version INTEGER PRIMARY KEY, name TEXT)"


class SchemaTooNew(RuntimeError):
    """The manifest was written by a newer version of the program."""


def known(folder: Path = SCHEMA) -> list[tuple[int, str, str]]:
    """The steps that this program knows: (version, name, SQL), in order."""
    steps = []
    for file in sorted(folder.glob("*.sql")):
        number, _, _ = file.stem.partition("_")
        steps.append((int(number), file.stem, file.read_text(encoding="utf-8")))
    return steps


def version(connection: sqlite3.Connection) -> int:
    """The manifest's version; 0 where nothing has been laid out yet."""
    found = "SELECT 1 FROM sqlite_master WHERE type = 'table' AND name = 'migration'"
    if connection.execute(found).fetchone() is None:
        return 0
    (highest,) = connection.execute("SELECT coalesce(max(version), 0) FROM migration").fetchone()
    return int(highest)


def require_known(connection: sqlite3.Connection, path: Path, folder: Path = SCHEMA) -> int:
    """The manifest's version. Raises SchemaTooNew if this program does not know it."""
    present, newest = version(connection), known(folder)[-1][0]
    if present > newest:
        raise SchemaTooNew(
            f"{path} has schema version {present}, but this rigledger knows only {newest}:"
            " install the version that wrote it, or a newer one"
        )
    return present


def migrate(connection: sqlite3.Connection, path: Path, folder: Path = SCHEMA) -> None:
    """Apply every step that is missing; each one and its record stand or fall together.

    `connection` must be in autocommit mode (isolation_level None). Raises SchemaTooNew.
    """
    present = require_known(connection, path, folder)
    for number, name, script in known(folder):
        if number > present:
            _apply(connection, number, name, script)


def _apply(connection: sqlite3.Connection, number: int, name: str, script: str) -> None:
    connection.execute("BEGIN IMMEDIATE")
    try:
        connection.execute(CREATE_RECORD)
        for statement in _statements(script):
            connection.execute(statement)
        connection.execute("INSERT INTO migration VALUES (?, ?)", (number, name))
        connection.execute("COMMIT")
    except BaseException:
        if connection.in_transaction:
            connection.execute("ROLLBACK")
        raise


def _statements(script: str) -> list[str]:
    """The script's statements; executescript would commit the transaction it runs in."""
    statements, pending = [], ""
    for line in script.splitlines(keepends=True):
        pending += line
        if sqlite3.complete_statement(pending):
            statements.append(pending)
            pending = ""
    if pending.strip():
        raise ValueError(f"the script ends inside a statement: {pending.strip()[:60]!r}")
    return statements
