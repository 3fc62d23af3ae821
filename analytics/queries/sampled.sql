-- reads: sample
-- Who told any reading placed in the range, and by which query it is read.
SELECT DISTINCT
    device AS card,
    CASE scope WHEN 'card' THEN 'samples' WHEN 'wall' THEN 'wall_samples' END AS query
FROM sample
WHERE at_ns >= $from_ns AND at_ns < $to_ns
