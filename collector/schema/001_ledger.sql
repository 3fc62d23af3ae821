-- Rows not yet sealed: one Arrow IPC stream per commit and kind.
CREATE TABLE hot (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    rows INTEGER NOT NULL,
    min_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL,
    batch BLOB NOT NULL
) STRICT;

-- Sealed Parquet files; a file that is not listed here does not exist for readers.
CREATE TABLE segment (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    kind TEXT NOT NULL,
    month TEXT NOT NULL,
    file TEXT NOT NULL UNIQUE,
    rows INTEGER NOT NULL,
    min_ns INTEGER NOT NULL,
    max_ns INTEGER NOT NULL
) STRICT;

-- Idempotency: key and digest of the content as `collector.identity` makes them. The kind
-- tells which older version a revision replaces; the month (year * 100 + month) ages keys out.
CREATE TABLE event_key (
    key BLOB NOT NULL PRIMARY KEY,
    digest BLOB NOT NULL,
    revision INTEGER NOT NULL,
    month INTEGER NOT NULL,
    kind TEXT NOT NULL
) STRICT, WITHOUT ROWID;

-- Versions that a higher revision has replaced; readers leave them out. The digest recognises
-- a late second telling of such a version as the duplicate that it is.
CREATE TABLE superseded (
    source TEXT NOT NULL,
    event_id TEXT NOT NULL,
    revision INTEGER NOT NULL,
    kind TEXT NOT NULL,
    digest BLOB NOT NULL,
    PRIMARY KEY (source, event_id, revision)
) STRICT, WITHOUT ROWID;

-- Events told, by what became of them (accepted, duplicate, conflict) and the event's month.
CREATE TABLE counter (
    name TEXT NOT NULL,
    kind TEXT NOT NULL,
    month INTEGER NOT NULL,
    value INTEGER NOT NULL,
    PRIMARY KEY (name, kind, month)
) STRICT, WITHOUT ROWID;
