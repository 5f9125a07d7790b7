-- The protocol of every leased outbox: <table> is its table, <subject> the column that names what a job is about.
--
-- Such a table has outbox_id, <subject>, status (PENDING, FAILED, DONE, and GIVEN_UP where jobs are not tried for ever),
-- attempts, leases, last_error, available_at, created_at and updated_at. A lease is available_at pushed forward. `leases`
-- grows when one begins or is given up: who holds an older one can no longer renew it, give it back or put the job off.
-- <lane> is the column by which turns go round, where there is one: `lease_fairly` is used then, for those jobs that <due>
-- lets through. A query of the same name in the folder of a family replaces the one that is here.

-- name: lease_jobs
-- Leases the first due jobs; the job of a worker that dies comes back by itself.
WITH due AS MATERIALIZED (
  SELECT outbox_id, available_at
  FROM <table>
  WHERE status IN ('PENDING', 'FAILED') AND available_at <= now()
  ORDER BY available_at
  LIMIT $1
  FOR UPDATE SKIP LOCKED
), leased AS (
  UPDATE <table> AS o
  SET available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM due
  WHERE o.outbox_id = due.outbox_id
  RETURNING o.outbox_id, o.<subject> AS subject_id, o.attempts, o.created_at, o.leases AS lease, due.available_at
)
SELECT outbox_id, subject_id, attempts, created_at, lease FROM leased ORDER BY available_at;

-- name: lease_fairly
-- Leases due jobs, of one <lane> after the other: the first of each, then the second of each. Lanes come in their order behind
-- $3, or from the first on when that is null; `next_lane` is where the next lease is to begin, and null when all of them had a
-- turn. The last lanes, fewer than a lease takes, are not to get many turns for one of the others. Where few jobs are due, an
-- index gives them, and what is put off costs nothing. Where many are, an index leads from lane to lane, so one in which many
-- wait costs no more than others; lanes that are put off are passed over, so many at a time, and where nothing else is found
-- there, those that are due for longest have a turn.
WITH RECURSIVE first_due AS MATERIALIZED (
  SELECT o.<lane> AS lane FROM <table> AS o
  WHERE o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  ORDER BY o.available_at LIMIT 16 * $1
), due_now AS MATERIALIZED (
  SELECT count(*) < 16 * $1 AS are_few FROM first_due
), lanes AS (
  (SELECT o.<lane> AS lane, o.available_at, 1 AS visited, (o.available_at <= now())::int AS due
   FROM <table> AS o
   WHERE o.status IN ('PENDING', 'FAILED') AND o.<lane> > coalesce($3, '')
     AND NOT (SELECT d.are_few FROM due_now AS d)
   ORDER BY o.<lane>, o.available_at LIMIT 1)
  UNION ALL
  SELECT next.lane, next.available_at, l.visited + 1, l.due + (next.available_at <= now())::int
  FROM lanes AS l CROSS JOIN LATERAL (
    SELECT o.<lane> AS lane, o.available_at FROM <table> AS o
    WHERE o.status IN ('PENDING', 'FAILED') AND o.<lane> > l.lane
    ORDER BY o.<lane>, o.available_at LIMIT 1
  ) AS next
  WHERE l.due < $1 AND l.visited < 16 * $1
), walked AS MATERIALIZED (
  SELECT l.lane, l.available_at <= now() AS is_due, l.due = $1 OR l.visited = 16 * $1 AS is_last FROM lanes AS l
), heads AS MATERIALIZED (
  (SELECT DISTINCT f.lane FROM first_due AS f CROSS JOIN due_now AS d
   WHERE d.are_few AND f.lane > coalesce($3, '')
   ORDER BY f.lane LIMIT $1)
  UNION
  SELECT w.lane FROM walked AS w WHERE w.is_due
  UNION
  SELECT f.lane FROM first_due AS f WHERE NOT EXISTS (SELECT FROM walked AS w WHERE w.is_due)
    AND NOT (SELECT d.are_few FROM due_now AS d)
), next_lane AS MATERIALIZED (
  SELECT CASE WHEN (SELECT d.are_few FROM due_now AS d)
    THEN (SELECT CASE WHEN count(*) = $1 THEN max(h.lane) END FROM heads AS h)
    ELSE (SELECT max(w.lane) FROM walked AS w WHERE w.is_last)
  END AS lane
), queue AS MATERIALIZED (
  SELECT h.lane, n.outbox_id, n.place
  FROM heads AS h CROSS JOIN LATERAL (
    SELECT o.outbox_id, row_number() OVER (ORDER BY o.available_at) AS place FROM <table> AS o
    WHERE o.status IN ('PENDING', 'FAILED') AND o.<lane> = h.lane AND o.available_at <= now()<due>
    ORDER BY o.available_at LIMIT CASE WHEN $3 IS NULL THEN 2 * $1 ELSE 4 END
  ) AS n
  ORDER BY n.place, h.lane LIMIT 4 * $1
), due AS MATERIALIZED (
  SELECT o.outbox_id, q.place, q.lane
  FROM queue AS q JOIN <table> AS o USING (outbox_id)
  WHERE o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  ORDER BY q.place, q.lane LIMIT $1
  FOR UPDATE OF o SKIP LOCKED
), leased AS (
  UPDATE <table> AS o
  SET available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM due
  WHERE o.outbox_id = due.outbox_id
  RETURNING o.outbox_id, o.<subject> AS subject_id, o.attempts, o.created_at, o.leases AS lease, due.place, due.lane
)
SELECT outbox_id, subject_id, attempts, created_at, leased.lease, n.lane AS next_lane
FROM leased CROSS JOIN next_lane AS n ORDER BY leased.place, leased.lane;

-- name: renew_jobs
-- Pushes leases forward that still are the newest, and have not run out, of jobs that are not ended. Tells of each job
-- whether it was renewed, is lost, or has ended; of one that somebody changes at this moment it tells nothing.
WITH held AS MATERIALIZED (
  SELECT o.outbox_id
  FROM <table> AS o
  JOIN unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease) ON o.outbox_id = t.outbox_id
  WHERE o.status NOT IN ('DONE', 'GIVEN_UP') AND o.leases = t.lease AND o.available_at > clock_timestamp()
  FOR UPDATE OF o SKIP LOCKED
), renewed AS (
  UPDATE <table> AS o
  SET available_at = clock_timestamp() + $3::interval, updated_at = now()
  FROM held
  WHERE o.outbox_id = held.outbox_id
  RETURNING o.outbox_id
), others AS (
  SELECT t.outbox_id, CASE
      WHEN coalesce(o.status, 'DONE') IN ('DONE', 'GIVEN_UP') THEN 'ended'
      WHEN o.leases <> t.lease OR o.available_at <= clock_timestamp() THEN 'lost'
    END AS state
  FROM unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
  LEFT JOIN <table> AS o ON o.outbox_id = t.outbox_id
  WHERE t.outbox_id NOT IN (SELECT outbox_id FROM renewed)
)
SELECT outbox_id, 'renewed' AS state FROM renewed
UNION ALL
SELECT outbox_id, state FROM others WHERE state IS NOT NULL;

-- name: finish_jobs
-- Ends jobs that are done, and tells which: not those that somebody else has leased since.
UPDATE <table> AS o SET status = 'DONE', last_error = NULL, available_at = now(), updated_at = now()
FROM unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease
RETURNING o.outbox_id;

-- name: fail_jobs
-- Puts jobs off after a failure, or gives them up after the $5th; null is never. Tells which ones are given up.
UPDATE <table> AS o
SET status = CASE WHEN o.attempts + 1 >= $5::int THEN 'GIVEN_UP' ELSE 'FAILED' END, attempts = o.attempts + 1,
    leases = o.leases + 1, last_error = $4, available_at = now() + t.delay, updated_at = now()
FROM unnest($1::uuid[], $2::int[], $3::interval[]) AS t (outbox_id, lease, delay)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease AND o.status NOT IN ('DONE', 'GIVEN_UP')
RETURNING o.outbox_id, o.status = 'GIVEN_UP' AS is_given_up;

-- name: release_jobs
-- Gives leased jobs back untouched.
UPDATE <table> AS o SET available_at = now(), leases = o.leases + 1, updated_at = now()
FROM unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease AND o.status NOT IN ('DONE', 'GIVEN_UP');

-- name: release_abandoned
-- Gives back up to $1 open jobs that are leased or put off. Only for who knows that nobody else is at work.
WITH abandoned AS MATERIALIZED (
  SELECT o.outbox_id FROM <table> AS o
  WHERE o.status IN ('PENDING', 'FAILED') AND o.available_at > now()
  LIMIT $1
  FOR UPDATE SKIP LOCKED
)
UPDATE <table> AS o SET available_at = now(), leases = o.leases + 1, updated_at = now()
FROM abandoned WHERE o.outbox_id = abandoned.outbox_id
RETURNING o.outbox_id;

-- name: outbox_statistics
-- How much waits, and since when, and how much was given up.
SELECT
  count(*) FILTER (WHERE status = 'PENDING') AS pending,
  count(*) FILTER (WHERE status = 'FAILED') AS failed,
  min(created_at) AS oldest,
  (SELECT count(*) FROM <table> WHERE status = 'GIVEN_UP') AS given_up
FROM <table>
WHERE status IN ('PENDING', 'FAILED');
