-- Files whose rows are in a larger file now; they stay a while for readers that still name them.
CREATE TABLE retired (
    file TEXT NOT NULL PRIMARY KEY,
    at_ns INTEGER NOT NULL
) STRICT, WITHOUT ROWID;

-- 1 once compaction has dropped the replaced row itself: readers need not leave it out any more,
-- but a late second telling of it is still a duplicate.
ALTER TABLE superseded ADD COLUMN dropped INTEGER NOT NULL DEFAULT 0;
