-- Chores: when they are due, and what came of them. What is not here is as in every outbox.

-- name: plan_runs
-- Makes the run that is due at $4 of a chore for each subject, unless there is one, or one that was due before is not done.
INSERT INTO chore_runs (family, chore, subject, due_at)
SELECT $1, $2, t.subject, $4
FROM unnest($3::text[]) AS t (subject)
ON CONFLICT DO NOTHING
RETURNING outbox_id;

-- name: lease_jobs
-- As that of every outbox, of the chores that this process has: the pairs of $3 and $4.
WITH due AS MATERIALIZED (
  SELECT outbox_id, available_at
  FROM chore_runs
  WHERE status IN ('PENDING', 'FAILED') AND available_at <= now()
    AND (family, chore) IN (SELECT * FROM unnest($3::text[], $4::text[]))
  ORDER BY available_at
  LIMIT $1
  FOR UPDATE SKIP LOCKED
), leased AS (
  UPDATE chore_runs AS o
  SET available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM due
  WHERE o.outbox_id = due.outbox_id
  RETURNING o.outbox_id, o.outbox_id AS subject_id, o.attempts, o.created_at, o.leases AS lease, due.available_at
)
SELECT outbox_id, subject_id, attempts, created_at, lease FROM leased ORDER BY available_at;

-- name: read_run
-- What a run is of.
SELECT family, chore, subject, due_at FROM chore_runs WHERE outbox_id = $1;

-- name: chore_statistics
-- By chore: how many runs wait or are at work, how many of them failed before, how many were given up, and when one was
-- done last.
SELECT
  family, chore,
  count(*) FILTER (WHERE status = 'PENDING') AS pending,
  count(*) FILTER (WHERE status = 'FAILED') AS failed,
  count(*) FILTER (WHERE status = 'GIVEN_UP') AS given_up,
  max(updated_at) FILTER (WHERE status = 'DONE') AS last_done
FROM chore_runs
GROUP BY family, chore
ORDER BY family, chore;

-- name: drop_old_runs
-- Removes runs that ended before $1 and have a later one, or ended before $2.
DELETE FROM chore_runs WHERE outbox_id = ANY (ARRAY(
  SELECT r.outbox_id FROM chore_runs AS r
  WHERE r.status IN ('DONE', 'GIVEN_UP', 'DISCARDED') AND r.available_at < $1 AND (r.available_at < $2 OR EXISTS (
    SELECT 1 FROM chore_runs AS later
    WHERE later.family = r.family AND later.chore = r.chore AND later.subject = r.subject AND later.due_at > r.due_at))
  ORDER BY r.available_at LIMIT $3 FOR UPDATE OF r SKIP LOCKED))
RETURNING outbox_id;

-- name: retry_jobs
-- As that of every outbox. One run of a chore for a subject is open at a time: the newest, and none beside an open one.
WITH chosen AS MATERIALIZED (
  SELECT DISTINCT ON (o.family, o.chore, o.subject) o.outbox_id
  FROM chore_runs AS o
  CROSS JOIN LATERAL (SELECT NULL::text AS tenant_id) AS t
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR t.tenant_id = $2)
    AND NOT EXISTS (
      SELECT FROM chore_runs AS r
      WHERE (r.family, r.chore, r.subject) = (o.family, o.chore, o.subject) AND r.status IN ('PENDING', 'FAILED'))
  ORDER BY o.family, o.chore, o.subject, o.due_at DESC
), absolved AS (
  UPDATE suspect_jobs AS s SET deaths = '{}' FROM chosen AS c WHERE s.outbox_id = c.outbox_id
)
UPDATE chore_runs AS o
SET status = 'PENDING', attempts = 0, leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id AND o.status = 'GIVEN_UP'
RETURNING o.outbox_id;
