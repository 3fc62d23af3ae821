-- What a segment's file must be, so that damage is noticed; null for files sealed before.
ALTER TABLE segment ADD COLUMN size_b INTEGER;
ALTER TABLE segment ADD COLUMN sha256 BLOB;

-- CRC-32 over a batch and what its row says of it; null for batches kept before.
ALTER TABLE hot ADD COLUMN crc INTEGER;

-- What was found damaged. `part` is manifest, log, batch or segment; `kept` is where the damaged
-- file lies now, relative to the ledger; `rows` were lost (null: unknown how many). While
-- `retold` is 0, the lost rows' keys still stand in the way of telling them again.
CREATE TABLE damage (
    id INTEGER PRIMARY KEY AUTOINCREMENT,
    at_ns INTEGER NOT NULL,
    part TEXT NOT NULL,
    file TEXT NOT NULL,
    what TEXT NOT NULL,
    kept TEXT,
    kind TEXT,
    min_ns INTEGER,
    max_ns INTEGER,
    rows INTEGER,
    retold INTEGER NOT NULL DEFAULT 0
) STRICT;
