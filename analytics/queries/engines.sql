-- reads: engine
-- What health checks said of the engines, in time order.
SELECT engine, at_ns, state, slots
FROM engine
WHERE at_ns >= $from_ns AND at_ns < $to_ns
ORDER BY engine, at_ns, event_id
