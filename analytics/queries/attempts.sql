-- reads: attempt
-- Attempts placed in the range that end after an instant, in the order that breaks ties. The same
-- attempt told by several sources is one row: the source that stands nearest to the engine counts,
-- and the others fill what it does not know.
WITH told AS (
    SELECT
        *,
        CASE source WHEN 'tap' THEN 0 WHEN 'router' THEN 1 WHEN 'engine_log' THEN 2 ELSE 3 END AS rank
    FROM attempt
    WHERE received_at_ns >= $from_ns AND received_at_ns < $to_ns
        AND received_at_ns + duration_ns > $ends_after_ns
),

several AS (
    SELECT request_id, attempt_no
    FROM told
    WHERE request_id IS NOT NULL
    GROUP BY request_id, attempt_no
    HAVING count(DISTINCT source) > 1
),

joined AS (
    SELECT told.* REPLACE (
        coalesce(input_tokens, max(input_tokens) OVER one) AS input_tokens,
        coalesce(cache_read_tokens, max(cache_read_tokens) OVER one) AS cache_read_tokens,
        coalesce(output_tokens, max(output_tokens) OVER one) AS output_tokens,
        coalesce(ttft_ns, min(ttft_ns) OVER one) AS ttft_ns,
        coalesce(session, max(session) OVER one) AS session,
        coalesce(project, max(project) OVER one) AS project,
        coalesce(key, max(key) OVER one) AS key
    )
    FROM told
    SEMI JOIN several USING (request_id, attempt_no)
    WINDOW one AS (PARTITION BY request_id, attempt_no)
    QUALIFY row_number() OVER (
        PARTITION BY request_id, attempt_no ORDER BY rank, source, event_id
    ) = 1
),

retried AS (
    SELECT request_id, max(attempt_no) AS last_no
    FROM told
    WHERE request_id IS NOT NULL AND attempt_no > 1
    GROUP BY request_id
),

every AS (
    SELECT * FROM joined
    UNION ALL
    SELECT told.* FROM told ANTI JOIN several USING (request_id, attempt_no)
)

SELECT
    source,
    event_id,
    request_id,
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
FROM every
LEFT JOIN retried USING (request_id)
ORDER BY source, event_id
