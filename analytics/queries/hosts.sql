-- reads: host
-- Times at which the host is known to have been off: it says so when it is back.
SELECT at_ns - duration_ns AS start_ns, at_ns AS end_ns
FROM host
WHERE what IN ('boot', 'resume') AND duration_ns > 0 AND at_ns >= $from_ns AND at_ns < $to_ns
ORDER BY start_ns
