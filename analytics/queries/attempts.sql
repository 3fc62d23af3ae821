-- reads: attempt
-- Attempts placed in the range, in the order that breaks ties everywhere.
SELECT
    source,
    event_id,
    engine,
    model,
    project,
    session,
    key,
    operation,
    status,
    usage_source,
    gpus,
    received_at_ns,
    received_at_ns + coalesce(dispatch_ns, 0) AS start_ns,
    wait_ns,
    received_at_ns + ttft_ns AS first_token_ns,
    received_at_ns + duration_ns AS end_ns,
    input_tokens,
    cache_read_tokens,
    output_tokens
FROM attempt
WHERE received_at_ns >= $from_ns AND received_at_ns < $to_ns
ORDER BY source, event_id
