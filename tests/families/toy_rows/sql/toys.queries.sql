-- What is done with toys.

-- name: put_toys
-- Keeps toys, with a job for each.
WITH kept AS (
  INSERT INTO toys (toy_id, tenant_id, project_id, words)
  SELECT t.toy_id, $1, $2, t.words FROM unnest($3::uuid[], $4::text[]) AS t (toy_id, words)
  ON CONFLICT (toy_id) DO NOTHING
  RETURNING toy_id
)
INSERT INTO toy_outbox (toy_id) SELECT toy_id FROM kept RETURNING toy_id;

-- name: all_toys
-- The toys of a box in the order in which they came; of a tenant where no project is given.
SELECT t.toy_id, t.tenant_id, t.project_id, t.words FROM toys AS t
WHERE t.tenant_id = $1 AND ($2::text IS NULL OR t.project_id = $2) ORDER BY t.created_at, t.toy_id;

-- name: get_toy
-- One toy of a box.
SELECT t.toy_id, t.words FROM toys AS t WHERE t.toy_id = $1 AND t.tenant_id = $2 AND t.project_id = $3;

-- name: drop_toys
-- Throws toys of a box away: one, or all where none is named; of a tenant where no project is given.
DELETE FROM toys AS t
WHERE ($1::uuid IS NULL OR t.toy_id = $1) AND t.tenant_id = $2 AND ($3::text IS NULL OR t.project_id = $3)
RETURNING t.toy_id;

-- name: near_toys
-- The toys of a box that are most like a vector.
SELECT t.toy_id, t.words, 1 - (t.vec <=> $3) AS score FROM toys AS t
WHERE t.tenant_id = $1 AND t.project_id = $2 AND t.vec IS NOT NULL ORDER BY t.vec <=> $3 LIMIT $4;

-- name: words_of
-- What toys look like.
SELECT t.toy_id, t.words FROM toys AS t WHERE t.toy_id = ANY ($1::uuid[]);

-- name: keep_vectors
-- Keeps the vectors of toys.
UPDATE toys AS t SET vec = v.vec FROM unnest($1::uuid[], $2::vector[]) AS v (toy_id, vec) WHERE t.toy_id = v.toy_id;

-- name: drop_done_jobs
-- Does away with jobs that were done before a moment.
DELETE FROM toy_outbox WHERE outbox_id IN (
  SELECT outbox_id FROM toy_outbox WHERE status = 'DONE' AND updated_at < $1 LIMIT $2
) RETURNING outbox_id;

-- name: tenants
-- Whose boxes there are.
SELECT DISTINCT tenant_id FROM toys ORDER BY tenant_id;

-- name: count_toys
-- Counts the toys of a tenant.
INSERT INTO toy_counts AS c (tenant_id, toys) SELECT $1, count(*) FROM toys AS t WHERE t.tenant_id = $1
ON CONFLICT (tenant_id) DO UPDATE SET toys = excluded.toys;

-- name: counted_toys
-- How many toys were counted last, by tenant.
SELECT sum(toys)::bigint FROM toy_counts;
