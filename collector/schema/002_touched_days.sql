-- When a UTC day (days since the epoch) last got news of a kind, by the running number of the
-- commit; whoever derives tables from a day compares numbers. An attempt touches every day that
-- it spans. `born` tells one manifest's numbers from another's.
CREATE TABLE touched_day (
    kind TEXT NOT NULL,
    day INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (kind, day)
) STRICT, WITHOUT ROWID;

CREATE TABLE born (id BLOB NOT NULL) STRICT;
INSERT INTO born VALUES (randomblob(16));
