-- Doing away with what searches left behind and nobody may or need read any more, a batch at a time.

-- name: drop_expired_traces
-- Removes traces past their time; their items go with them.
DELETE FROM search_traces WHERE trace_id = ANY (ARRAY(
  SELECT trace_id FROM search_traces WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING trace_id;

-- name: drop_done_trace_jobs
-- Removes trace jobs that were done, given up or discarded before $1.
DELETE FROM search_trace_outbox WHERE outbox_id = ANY (ARRAY(
  SELECT ended.outbox_id
  FROM unnest(ARRAY['DONE', 'GIVEN_UP', 'DISCARDED']) AS way, LATERAL (
    SELECT outbox_id FROM search_trace_outbox
    WHERE status = way AND available_at < $1 AND updated_at < $1
    ORDER BY available_at LIMIT $2 FOR UPDATE SKIP LOCKED) AS ended
  LIMIT $2))
RETURNING outbox_id;

-- name: drop_expired_answers
-- Removes cached answers of models past their time.
DELETE FROM llm_cache WHERE cache_id = ANY (ARRAY(
  SELECT cache_id FROM llm_cache WHERE expires_at <= $1 ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING cache_id;
