-- The jobs of the family.

-- name: read_jobs
-- What open jobs are about.
SELECT o.outbox_id, o.tenant_id, o.user_id, o.kind, o.subject_id, o.payload, o.created_at
FROM assistant_outbox AS o
WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status IN ('PENDING', 'FAILED');

-- name: lacking_vectors
-- Those of these memories that are there and have no vector of the model $4.
SELECT <columns> FROM assistant_memories AS m
JOIN unnest($1::text[], $2::text[], $3::uuid[]) AS t (tenant_id, user_id, memory_id) USING (tenant_id, user_id, memory_id)
WHERE NOT EXISTS (
  SELECT FROM assistant_vectors AS v
  WHERE v.tenant_id = m.tenant_id AND v.user_id = m.user_id AND v.memory_id = m.memory_id AND v.embedding_version = $4
);

-- name: drop_done_jobs
-- Removes jobs that were done before $1, and those for vectors that were given up or discarded before, and whose memory is
-- gone; other jobs that were discarded are about no memory.
WITH done AS (
  SELECT o.outbox_id FROM assistant_outbox AS o
  WHERE o.status = 'DONE' AND o.updated_at < $1 ORDER BY o.updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
), given_up AS (
  SELECT o.outbox_id FROM assistant_outbox AS o
  WHERE o.status IN ('GIVEN_UP', 'DISCARDED') AND o.updated_at < $1
    AND CASE WHEN o.kind = 'vector' THEN NOT EXISTS (
      SELECT FROM assistant_memories AS m
      WHERE m.tenant_id = o.tenant_id AND m.user_id = o.user_id AND m.memory_id = o.subject_id)
    ELSE o.status = 'DISCARDED' END
  LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM assistant_outbox WHERE outbox_id = ANY (ARRAY(
  SELECT outbox_id FROM done UNION ALL SELECT outbox_id FROM given_up LIMIT $2))
RETURNING outbox_id;

-- name: discard_jobs
-- As that of every outbox. What was said in a turn does not stay here.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM assistant_outbox AS o
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR o.tenant_id = $2)
  FOR UPDATE OF o
)
UPDATE assistant_outbox AS o
SET status = 'DISCARDED', payload = '{}', leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id
RETURNING o.outbox_id;

-- name: finish_jobs
-- Ends jobs that are done, and tells which: not those that somebody else has leased since. What was said in a turn does
-- not stay here.
UPDATE assistant_outbox AS o
SET status = 'DONE', payload = '{}', last_error = NULL, available_at = now(), updated_at = now()
FROM unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease
RETURNING o.outbox_id;
