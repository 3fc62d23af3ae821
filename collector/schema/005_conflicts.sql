-- Tellings refused since their event had been told with other content, by the quarter of an hour
-- (UTC) that they speak of: every zone's days begin at one.
CREATE TABLE conflict (
    kind TEXT NOT NULL,
    quarter_ns INTEGER NOT NULL,
    number INTEGER NOT NULL,
    PRIMARY KEY (kind, quarter_ns)
) STRICT, WITHOUT ROWID;
