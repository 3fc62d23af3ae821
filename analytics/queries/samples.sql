-- reads: sample
-- Card readings placed in the range, in the order of time.
SELECT device AS card, source, sensor, at_ns, power_mw, energy_uj_total, counter_epoch, util_pct, foreign_processes
FROM sample
WHERE scope = 'card' AND at_ns >= $from_ns AND at_ns < $to_ns
ORDER BY at_ns, source, event_id
