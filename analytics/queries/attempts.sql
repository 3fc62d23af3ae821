-- reads: attempt
-- What was told of attempts placed in the range that end after an instant, in the order that breaks
-- ties, with the ids that several sources told: `tellings.joined` makes one row of each attempt.
WITH told AS (
    SELECT *
    FROM attempt
    WHERE received_at_ns >= $from_ns AND received_at_ns < $to_ns
        AND received_at_ns + duration_ns > $ends_after_ns
),

several AS (SELECT * FROM told WHERE (SELECT min(source) <> max(source) FROM told)),

requests AS (
    SELECT request_id
    FROM several
    WHERE request_id IS NOT NULL
    GROUP BY request_id
    HAVING min(source) <> max(source)
),

responses AS (
    SELECT response_id
    FROM several
    WHERE response_id IS NOT NULL
    GROUP BY response_id
    HAVING min(source) <> max(source)
),

retried AS (
    SELECT request_id, max(attempt_no) AS last_no
    FROM told
    WHERE request_id IS NOT NULL AND attempt_no > 1
    GROUP BY request_id
)

SELECT
    source,
    event_id,
    request_id,
    requests.request_id AS shared_request,
    responses.response_id AS shared_response,
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
    cache_write_tokens,
    output_tokens,
    reasoning_tokens,
    prefix,
    prefix_tokens,
    -- An earlier try of a request that was tried again is no request of its own.
    attempt_no >= coalesce(last_no, 0) AS is_request
FROM told
LEFT JOIN requests USING (request_id)
LEFT JOIN responses USING (response_id)
LEFT JOIN retried USING (request_id)
ORDER BY source, event_id
