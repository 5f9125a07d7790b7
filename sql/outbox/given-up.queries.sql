-- What operators see of the jobs of an outbox, and what they decide of those that were given up.
--
-- <tenant>, <about>, <kind> and <which> are told of a job o: its tenant, the id of what it is about, what that is, and
-- whether it is of this outbox (elf/outbox/given_up.py). A DONE job is of no interest here. A query of the same name in
-- the folder of a family replaces the one that is here.

-- name: list_jobs
-- A page of jobs in these states ($1), newest first, behind a moment and an id ($2, $3): of a tenant ($4), or of all.
SELECT o.outbox_id AS id, o.status AS state, t.tenant_id, <kind> AS subject_kind, <about> AS subject_id, o.attempts,
  coalesce((SELECT cardinality(s.deaths) FROM suspect_jobs AS s WHERE s.outbox_id = o.outbox_id), 0) AS process_deaths, o.last_error, o.created_at, o.updated_at
FROM <table> AS o
CROSS JOIN LATERAL (SELECT <tenant> AS tenant_id) AS t
WHERE <which> AND (o.status IN ('PENDING', 'FAILED') OR o.status IN ('GIVEN_UP', 'DISCARDED'))
  AND o.status = ANY ($1::text[]) AND (o.created_at, o.outbox_id) < ($2::timestamptz, $3::uuid)
  AND ($4::text IS NULL OR t.tenant_id = $4)
ORDER BY o.created_at DESC, o.outbox_id DESC LIMIT $5;

-- name: count_jobs
-- How many jobs there are by state: of a tenant ($1), or of all.
SELECT o.status AS state, count(*) AS jobs
FROM <table> AS o
CROSS JOIN LATERAL (SELECT <tenant> AS tenant_id) AS t
WHERE <which> AND (o.status IN ('PENDING', 'FAILED') OR o.status IN ('GIVEN_UP', 'DISCARDED'))
  AND ($1::text IS NULL OR t.tenant_id = $1)
GROUP BY o.status;

-- name: retry_jobs
-- Has those of the jobs $1 that were given up tried again now, as new ones: of a tenant ($2), or of all. Returns them. One that
-- was at work when a process ended still runs alone.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM <table> AS o
  CROSS JOIN LATERAL (SELECT <tenant> AS tenant_id) AS t
  WHERE <which> AND o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR t.tenant_id = $2)
  FOR UPDATE OF o
), absolved AS (
  UPDATE suspect_jobs AS s SET deaths = '{}' FROM chosen AS c WHERE s.outbox_id = c.outbox_id
)
UPDATE <table> AS o
SET status = 'PENDING', attempts = 0, leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id
RETURNING o.outbox_id;

-- name: discard_jobs
-- Ends those of the jobs $1 that were given up without their having been done: of a tenant ($2), or of all. Returns them.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM <table> AS o
  CROSS JOIN LATERAL (SELECT <tenant> AS tenant_id) AS t
  WHERE <which> AND o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR t.tenant_id = $2)
  FOR UPDATE OF o
)
UPDATE <table> AS o SET status = 'DISCARDED', leases = o.leases + 1, available_at = now(), updated_at = now()
FROM chosen AS c WHERE o.outbox_id = c.outbox_id
RETURNING o.outbox_id;
