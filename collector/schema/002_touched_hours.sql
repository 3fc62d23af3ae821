-- When a UTC hour (hours since the epoch) last got news of a kind, by the running number of the
-- commit; whoever derives tables from them compares numbers. An attempt touches every hour that
-- it spans. `born` tells one manifest's numbers from another's.
CREATE TABLE touched_hour (
    kind TEXT NOT NULL,
    hour INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (kind, hour)
) STRICT, WITHOUT ROWID;

CREATE TABLE born (id BLOB NOT NULL) STRICT;
INSERT INTO born VALUES (randomblob(16));
