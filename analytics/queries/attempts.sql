-- reads: attempt
-- What was told of attempts placed in the range that end after an instant, in any order, with the
-- ids that several sources told: `tellings.joined` makes one row of each attempt.
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

-- Who tells of a further try knows which is which; the others call each the first.
tried AS (
    SELECT request_id, source
    FROM told
    WHERE request_id IS NOT NULL AND attempt_no > 1
    GROUP BY request_id, source
),

tries AS (
    SELECT
        told.source,
        event_id,
        request_id,
        attempt_no,
        received_at_ns,
        received_at_ns + duration_ns AS ended_ns,
        tried.source IS NOT NULL AS knows,
        {
            ok: status = 'ok',
            told: input_tokens IS NOT NULL AND output_tokens IS NOT NULL,
            attempt_no: attempt_no
        } AS worth
    FROM told
    SEMI JOIN (SELECT DISTINCT request_id FROM tried) AS again USING (request_id)
    LEFT JOIN tried USING (request_id, source)
),

-- An id that is used again later than tellings meet (`tellings.NEARBY_NS`) is another request's.
begun AS (
    SELECT
        *,
        received_at_ns > 300_000_000_000 + max(ended_ns) OVER (
            PARTITION BY request_id ORDER BY received_at_ns, source, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND 1 PRECEDING
        ) AS begins
    FROM tries
),

uses AS (
    SELECT
        *,
        count(*) FILTER (begins) OVER (
            PARTITION BY request_id ORDER BY received_at_ns, source, event_id
            ROWS BETWEEN UNBOUNDED PRECEDING AND CURRENT ROW
        ) AS use_no
    FROM begun
),

counted AS (
    SELECT request_id, use_no, arg_max(attempt_no, worth) FILTER (knows) AS counted_no
    FROM uses
    GROUP BY request_id, use_no
),

judged AS (
    SELECT source, event_id, counted_no IS NULL OR (attempt_no = counted_no AND knows) AS counts
    FROM uses
    JOIN counted USING (request_id, use_no)
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
    route,
    -- Of a request that was tried again one try counts: one that succeeded, else that told its
    -- tokens, else the last.
    coalesce(counts, true) AS is_request
FROM told
LEFT JOIN requests USING (request_id)
LEFT JOIN responses USING (response_id)
LEFT JOIN judged USING (source, event_id)
