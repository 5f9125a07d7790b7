-- Which jobs were at work when a process ended: those that are open, under a lease that another process's run names. Whoever
-- leases a job, gives it back or puts it off gives it another lease.

-- name: begin_run
-- Tells what the process $1 is at: jobs of the outbox $2, under these leases, in slot $3, and alone where $6 says so. Returns
-- those of them that were at work when a process ended, and how many processes did while one was alone. A job that follows a
-- run with no lease in between was left behind by it: its lease ran out.
WITH run AS (
  INSERT INTO job_runs (process, outbox, slot, jobs, leases, is_alone)
  VALUES ($1, $2, $3, $4::uuid[], $5::int[], $6)
  ON CONFLICT (process, outbox, slot) DO UPDATE
  SET jobs = excluded.jobs, leases = excluded.leases, is_alone = excluded.is_alone, began_at = now()
), left_behind AS (
  SELECT t.outbox_id, array_agg(DISTINCT r.process) FILTER (WHERE r.is_alone) AS deaths
  FROM unnest($4::uuid[], $5::int[]) AS t (outbox_id, lease)
  JOIN job_runs AS r ON r.outbox = $2 AND r.process <> $1 AND t.outbox_id = ANY (r.jobs)
  CROSS JOIN LATERAL unnest(r.jobs, r.leases) AS b (outbox_id, lease)
  WHERE b.outbox_id = t.outbox_id AND b.lease = t.lease - 1
  GROUP BY t.outbox_id
), suspected AS (
  INSERT INTO suspect_jobs AS s (outbox, outbox_id, deaths)
  SELECT $2, b.outbox_id, coalesce(b.deaths, '{}') FROM left_behind AS b
  ON CONFLICT (outbox, outbox_id) DO UPDATE
  SET deaths = s.deaths || ARRAY(SELECT d FROM unnest(excluded.deaths) AS d WHERE d <> ALL (s.deaths))
  RETURNING s.outbox_id, s.deaths
)
SELECT outbox_id, cardinality(deaths) AS deaths FROM suspected
UNION ALL
SELECT s.outbox_id, cardinality(s.deaths) FROM suspect_jobs AS s
WHERE s.outbox = $2 AND s.outbox_id = ANY ($4::uuid[]) AND s.outbox_id NOT IN (SELECT outbox_id FROM suspected);

-- name: suspect_abandoned
-- Suspects what other processes than $1 were at, of the outbox $2. Only for who knows that none of them lives.
WITH ended AS (
  DELETE FROM job_runs AS r WHERE r.outbox = $2 AND r.process <> $1
  RETURNING r.process, r.jobs, r.leases, r.is_alone
), abandoned AS (
  SELECT b.outbox_id, array_agg(DISTINCT e.process) FILTER (WHERE e.is_alone) AS deaths
  FROM ended AS e
  CROSS JOIN LATERAL unnest(e.jobs, e.leases) AS b (outbox_id, lease)
  JOIN <table> AS o ON o.outbox_id = b.outbox_id AND o.leases = b.lease AND o.status IN ('PENDING', 'FAILED')
  GROUP BY b.outbox_id
)
INSERT INTO suspect_jobs AS s (outbox, outbox_id, deaths)
SELECT $2, a.outbox_id, coalesce(a.deaths, '{}') FROM abandoned AS a
ON CONFLICT (outbox, outbox_id) DO UPDATE SET deaths = s.deaths || excluded.deaths
RETURNING s.outbox_id;

-- name: forget_suspicions
-- Forgets the suspicions against jobs of the outbox $1 that are done with.
DELETE FROM suspect_jobs AS s
WHERE s.outbox = $1
  AND NOT EXISTS (SELECT FROM <table> AS o WHERE o.outbox_id = s.outbox_id AND o.status <> 'DONE');

-- name: absolve
-- The process $1 lives: what others took for its end was none, and what it was at is not to be taken for that again.
WITH ended AS (
  DELETE FROM job_runs AS r WHERE r.outbox = $2 AND r.process = $1
)
UPDATE suspect_jobs AS s SET deaths = array_remove(s.deaths, $1) WHERE s.outbox = $2 AND $1 = ANY (s.deaths);

-- name: end_runs
-- The process $1 stops on its own accord: what it is at still is given back, and is not to blame for its end.
DELETE FROM job_runs AS r WHERE r.outbox = $2 AND r.process = $1;

-- name: give_up_jobs
-- Gives jobs up, and tells which: not those that somebody else has leased since.
UPDATE <table> AS o SET status = 'GIVEN_UP', leases = o.leases + 1, last_error = $3, available_at = now(), updated_at = now()
FROM unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease AND o.status NOT IN ('DONE', 'GIVEN_UP')
RETURNING o.outbox_id;
