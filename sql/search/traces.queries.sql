-- Storing and reading traces of searches.
--
-- A trace is worth a little, so no commit here waits for the disk: set_config(..., true) lasts until its transaction has
-- ended, and a WITH that nothing reads from would not be run. A crash of the server may lose the last moments' traces.

-- name: enqueue_traces
-- Puts traces into the outbox, each leased by its writer for $3 from the start. A trace that is there stays as it is.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO search_trace_outbox (outbox_id, trace_id, status, available_at, payload)
SELECT t.trace_id, t.trace_id, 'PENDING', now() + $3::interval, t.payload
FROM relaxed, unnest($1::uuid[], $2::jsonb[]) AS t (trace_id, payload)
ON CONFLICT (outbox_id) DO NOTHING
RETURNING outbox_id, trace_id AS subject_id, attempts, created_at, leases AS lease;

-- name: write_traces
-- Writes the traces of jobs and ends the jobs, whose payload nobody needs then. Doing it twice changes nothing. The
-- payload holds its long parts as JSON within strings, so that they are read only here. One without a family was
-- written before there were others. Who erases jobs waits for those that are being written, and then meets the traces.
WITH relaxed AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true)),
jobs AS MATERIALIZED (
  SELECT o.outbox_id, o.trace_id, o.payload
  FROM relaxed, search_trace_outbox AS o
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status NOT IN ('DONE', 'GIVEN_UP')
  FOR UPDATE OF o
), traces AS (
  INSERT INTO search_traces (
    trace_id, family, tenant_id, project_id, agent_id, read_profile, query, expansion_mode, expanded_queries,
    allowed_scopes, candidate_count, top_k, config_snapshot, trace_version, created_at, expires_at, degraded, stages,
    dropped, filters)
  SELECT
    j.trace_id, coalesce(t.family, 'notes'), t.tenant_id, t.project_id, t.agent_id, t.read_profile, t.query, t.expansion_mode,
    t.expanded_queries, t.allowed_scopes, t.candidate_count, t.top_k, t.config_snapshot, t.trace_version, t.created_at,
    t.expires_at, t.degraded, t.stages, t.dropped::json, t.filters
  FROM jobs AS j, jsonb_to_record(j.payload) AS t (
    family text, tenant_id text, project_id text, agent_id text, read_profile text, query text, expansion_mode text,
    expanded_queries jsonb, allowed_scopes jsonb, candidate_count int, top_k int, config_snapshot jsonb,
    trace_version int, created_at timestamptz, expires_at timestamptz, degraded jsonb, stages jsonb, dropped text,
    filters jsonb)
  ON CONFLICT (trace_id) DO NOTHING
), items AS (
  INSERT INTO search_trace_items (
    item_id, trace_id, note_id, chunk_id, rank, retrieval_score, retrieval_rank, rerank_score, tie_breaker_score,
    final_score, relevance, boosts, matched_terms, matched_fields)
  SELECT
    i.item_id, j.trace_id, i.note_id, i.chunk_id, i.rank, i.retrieval_score, i.retrieval_rank, i.rerank_score,
    i.tie_breaker_score, i.final_score, i.relevance, i.boosts, i.matched_terms, i.matched_fields
  FROM jobs AS j, json_to_recordset((j.payload ->> 'items')::json) AS i (
    item_id uuid, note_id uuid, chunk_id uuid, rank int, retrieval_score float8, retrieval_rank int,
    rerank_score float8, tie_breaker_score float8, final_score float8, relevance float8, boosts jsonb, matched_terms jsonb,
    matched_fields jsonb)
  ON CONFLICT (item_id) DO NOTHING
)
UPDATE search_trace_outbox AS o
SET status = 'DONE', payload = '{}', last_error = NULL, available_at = now(), updated_at = now()
FROM jobs AS j WHERE o.outbox_id = j.outbox_id;

-- name: fail_jobs
-- As that of every outbox. Of a trace that is given up, nothing is kept but why.
UPDATE search_trace_outbox AS o
SET status = CASE WHEN o.attempts + 1 >= $5::int THEN 'GIVEN_UP' ELSE 'FAILED' END, attempts = o.attempts + 1,
    payload = CASE WHEN o.attempts + 1 >= $5::int THEN '{}' ELSE o.payload END,
    leases = o.leases + 1, last_error = $4, available_at = now() + t.delay, updated_at = now()
FROM unnest($1::uuid[], $2::int[], $3::interval[]) AS t (outbox_id, lease, delay)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease AND o.status NOT IN ('DONE', 'GIVEN_UP')
RETURNING o.outbox_id, o.status = 'GIVEN_UP' AS is_given_up;

-- name: retry_jobs
-- As that of every outbox. Of most traces that were given up nothing is left that could be tried again.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM search_trace_outbox AS o
  CROSS JOIN LATERAL (SELECT o.payload ->> 'tenant_id' AS tenant_id) AS t
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND t.tenant_id IS NOT NULL
    AND ($2::text IS NULL OR t.tenant_id = $2)
  FOR UPDATE OF o
)
UPDATE search_trace_outbox AS o
SET status = 'PENDING', attempts = 0, leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id
RETURNING o.outbox_id;

-- name: discard_jobs
-- As that of every outbox. Nothing is kept of the trace.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM search_trace_outbox AS o
  CROSS JOIN LATERAL (SELECT o.payload ->> 'tenant_id' AS tenant_id) AS t
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR t.tenant_id = $2)
  FOR UPDATE OF o
)
UPDATE search_trace_outbox AS o
SET status = 'DISCARDED', payload = '{}', leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id
RETURNING o.outbox_id;

-- name: read_trace
-- Reads a trace of the family $3 that is kept at $2.
SELECT t.* FROM search_traces AS t WHERE t.trace_id = $1 AND t.expires_at > $2 AND t.family = $3;

-- name: read_trace_of_item
-- Reads the trace, of the family $3, that a result is of and that is kept at $2.
SELECT t.*
FROM search_trace_items AS i
JOIN search_traces AS t ON t.trace_id = i.trace_id
WHERE i.item_id = $1 AND t.expires_at > $2 AND t.family = $3;

-- name: read_trace_items
-- Reads the results of a trace, the best first.
SELECT i.* FROM search_trace_items AS i WHERE i.trace_id = $1 ORDER BY i.rank;

-- name: list_traces
-- A page of an agent's traces in the family $8 that are kept at $6, newest first, behind the cursor ($4, $5), which is never null.
-- Unless $9 is null, only those of searches that read no other scopes.
SELECT
  t.trace_id, t.query, t.read_profile, t.filters, t.expansion_mode, t.candidate_count, t.top_k, t.degraded, t.stages, t.created_at,
  (SELECT count(*) FROM search_trace_items AS i WHERE i.trace_id = t.trace_id) AS result_count
FROM search_traces AS t
WHERE t.tenant_id = $1 AND t.project_id = $2 AND t.agent_id = $3
  AND (t.created_at, t.trace_id) < ($4::timestamptz, $5::uuid) AND t.expires_at > $6 AND t.family = $8
  AND ($9::text[] IS NULL OR t.allowed_scopes <@ to_jsonb($9))
ORDER BY t.created_at DESC, t.trace_id DESC
LIMIT $7;
