-- What threads are told of changes.

-- name: begin_thread
-- Makes a thread known, where it is not.
INSERT INTO assistant_threads (tenant_id, user_id, thread_id) VALUES ($1, $2, $3) ON CONFLICT DO NOTHING;

-- name: log_changes
-- Tells changes of a thread ($3, or null) in it, and in up to $5 other threads of the user that were seen since $4, the
-- last seen first. Each change is a revision of each thread, and the newest $6 stay.
WITH others AS MATERIALIZED (
  SELECT t.thread_id FROM assistant_threads AS t
  WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.seen_at >= $4 AND t.thread_id IS DISTINCT FROM $3
  ORDER BY t.seen_at DESC, t.thread_id LIMIT $5
), held AS MATERIALIZED (
  SELECT t.thread_id FROM assistant_threads AS t
  WHERE t.tenant_id = $1 AND t.user_id = $2 AND (t.thread_id = $3 OR t.thread_id IN (SELECT o.thread_id FROM others AS o))
  ORDER BY t.thread_id FOR UPDATE OF t
), raised AS (
  UPDATE assistant_threads AS t SET rev = t.rev + cardinality($7::uuid[])
  FROM held AS h WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = h.thread_id
  RETURNING t.thread_id, t.rev
), told AS (
  INSERT INTO assistant_changes (tenant_id, user_id, thread_id, rev, memory_id, event, meta, ts)
  SELECT $1, $2, r.thread_id, r.rev - cardinality($7::uuid[]) + c.place, c.memory_id, c.event, c.meta, $10
  FROM raised AS r
  CROSS JOIN unnest($7::uuid[], $8::text[], $9::jsonb[]) WITH ORDINALITY AS c (memory_id, event, meta, place)
), dropped AS (
  DELETE FROM assistant_changes AS c USING raised AS r
  WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.thread_id = r.thread_id AND c.rev <= r.rev - $6
)
SELECT r.thread_id, r.rev FROM raised AS r ORDER BY r.thread_id;
