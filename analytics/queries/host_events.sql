-- reads: host
-- What befell the host, in the order in which each of its boots told it.
SELECT what, boot_id, at_ns, duration_ns
FROM host
WHERE at_ns >= $from_ns AND at_ns < $to_ns AND what IN ('boot', 'resume', 'clock_step')
ORDER BY boot_id, event_id
