-- The vectors of values, and the work that is left of them.

-- name: drop_vectors
-- Removes the vectors of values.
DELETE FROM store_vectors WHERE item_id = ANY ($1::uuid[]);

-- name: keep_vectors
-- Keeps vectors of the model $3 of a user's ($1, $2) values.
INSERT INTO store_vectors (tenant_id, user_id, item_id, place, embedding_version, embedding)
SELECT $1, $2, g.item_id, g.place, $3, g.embedding
FROM unnest($4::uuid[], $5::int[], $6::vector[]) AS g (item_id, place, embedding);

-- name: leave_jobs
-- Leaves the vectors of revisions to be made.
INSERT INTO store_outbox (tenant_id, user_id, revision) SELECT $1, $2, g FROM unnest($3::uuid[]) AS g;

-- name: measure_revisions
-- How large the values of revisions are that vectors are to be made of.
SELECT i.revision, octet_length(i.value::text) AS bytes
FROM store_items AS i WHERE i.revision = ANY ($1::uuid[]) AND i.indexed IS NOT NULL;

-- name: read_revisions
-- What the vectors of revisions are to be made of: of those that no later write has replaced.
SELECT i.tenant_id, i.user_id, i.item_id, i.revision, i.value::text AS value, i.indexed
FROM store_items AS i WHERE i.revision = ANY ($1::uuid[]) AND i.indexed IS NOT NULL;

-- name: lock_revision
-- Keeps others from writing a value that still is of a revision.
SELECT i.item_id FROM store_items AS i WHERE i.revision = $1 FOR UPDATE;

-- name: leave_outdated
-- Leaves up to $2 values whose vectors are not of the model $1 to be embedded anew.
INSERT INTO store_outbox (tenant_id, user_id, revision)
SELECT i.tenant_id, i.user_id, i.revision FROM store_items AS i
WHERE EXISTS (SELECT FROM store_vectors AS v WHERE v.item_id = i.item_id AND v.embedding_version <> $1)
  AND NOT EXISTS (SELECT FROM store_outbox AS o WHERE o.revision = i.revision AND o.status IN ('PENDING', 'FAILED'))
LIMIT $2
RETURNING outbox_id;

-- name: drop_done_jobs
-- Removes jobs that were done before $1.
DELETE FROM store_outbox WHERE outbox_id = ANY (ARRAY(
  SELECT o.outbox_id FROM store_outbox AS o
  WHERE o.status = 'DONE' AND o.updated_at < $1 ORDER BY o.updated_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING outbox_id;

-- name: drop_expired
-- Removes up to $2 values that have expired by $1, with their vectors.
DELETE FROM store_items WHERE item_id = ANY (ARRAY(
  SELECT i.item_id FROM store_items AS i WHERE i.expires_at <= $1
  ORDER BY i.expires_at LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING item_id;
