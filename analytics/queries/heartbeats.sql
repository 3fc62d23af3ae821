-- reads: heartbeat
-- One row for each engine that a witness watched at an instant.
SELECT DISTINCT unnest(covers) AS engine, at_ns
FROM heartbeat
WHERE at_ns >= $from_ns AND at_ns < $to_ns
ORDER BY engine, at_ns
