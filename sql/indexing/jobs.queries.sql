-- The outbox of a corpus, by which its subjects get into the index; what is not here is as in every outbox (sql/outbox).
--
-- Of each corpus (elf/indexing/corpus.py): <outbox> is this table, which has `op` and `embedding_version`, too; <rows> holds
-- the subjects, by <key>; <view> says of each of them what the index needs to know; <chunks> and <vectors> hold what is
-- made of it. `lane` is a hash of the tenant for which a job is done, or 0 for what the service does by itself. <subject> is the column of outbox and chunks that names the subject, <fields> the columns of the view that
-- points are made of. A job is for workers of its embedding_version. A query of the same name in the folder of a family
-- replaces the one that is here.

-- name: lease_fairly
-- Leases due jobs of one embedding version as every outbox does (sql/outbox): of one lane after the other, those behind $3, as
-- many as hold $5 bytes of text, but one at least. A longer text waits until the others had their turn; then the next lease
-- begins with it. The length of a text that is a column is known without reading it. Jobs that came due at once were made by
-- one statement, and stand in the index as they were inserted.
WITH RECURSIVE first_due AS MATERIALIZED (
  SELECT o.lane AS lane FROM <outbox> AS o
  WHERE o.embedding_version = $4 AND o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  ORDER BY o.available_at LIMIT 16 * $1
), due_now AS MATERIALIZED (
  SELECT count(*) < 16 * $1 AS are_few FROM first_due
), lanes AS (
  (SELECT o.lane AS lane, o.available_at, 1 AS visited, (o.available_at <= now())::int AS due
   FROM <outbox> AS o
   WHERE o.embedding_version = $4 AND o.status IN ('PENDING', 'FAILED') AND o.lane > coalesce($3, '-9223372036854775808'::bigint)
     AND NOT (SELECT d.are_few FROM due_now AS d)
   ORDER BY o.lane, o.available_at LIMIT 1)
  UNION ALL
  SELECT next.lane, next.available_at, l.visited + 1, l.due + (next.available_at <= now())::int
  FROM lanes AS l CROSS JOIN LATERAL (
    SELECT o.lane AS lane, o.available_at FROM <outbox> AS o
    WHERE o.embedding_version = $4 AND o.status IN ('PENDING', 'FAILED') AND o.lane > l.lane
    ORDER BY o.lane, o.available_at LIMIT 1
  ) AS next
  WHERE l.due < $1 AND l.visited < 16 * $1
), walked AS MATERIALIZED (
  SELECT l.lane, l.available_at <= now() AS is_due, l.due = $1 OR l.visited = 16 * $1 AS is_last FROM lanes AS l
), heads AS MATERIALIZED (
  (SELECT DISTINCT f.lane FROM first_due AS f CROSS JOIN due_now AS d
   WHERE d.are_few AND f.lane > coalesce($3, '-9223372036854775808'::bigint)
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
    SELECT o.outbox_id, row_number() OVER (ORDER BY o.available_at) AS place FROM <outbox> AS o
    WHERE o.embedding_version = $4 AND o.status IN ('PENDING', 'FAILED') AND o.lane = h.lane AND o.available_at <= now()
    ORDER BY o.available_at LIMIT CASE WHEN $3 IS NULL THEN 2 * $1 ELSE 4 END
  ) AS n
  ORDER BY n.place, h.lane LIMIT 4 * $1
), due AS MATERIALIZED (
  SELECT o.outbox_id, o.<subject>, q.place, q.lane
  FROM queue AS q JOIN <outbox> AS o USING (outbox_id)
  WHERE o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  ORDER BY q.place, q.lane LIMIT $1
  FOR UPDATE OF o SKIP LOCKED
), sized AS (
  SELECT t.outbox_id, t.lane, row_number() OVER line AS place, sum(t.bytes) OVER line AS bytes
  FROM (
    SELECT d.*, coalesce(octet_length(s.text), 0) AS bytes, (SELECT count(*) FROM heads) AS lanes
    FROM due AS d LEFT JOIN <view> AS s ON s.subject_id = d.<subject>
  ) AS t
  WINDOW line AS (
    ORDER BY $3 IS NULL AND t.bytes > $5 AND t.lanes > 1, t.place, t.lane ROWS UNBOUNDED PRECEDING)
), leased AS (
  UPDATE <outbox> AS o
  SET available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM sized AS s
  WHERE o.outbox_id = s.outbox_id AND (s.bytes <= $5 OR s.place = 1)
  RETURNING o.outbox_id, o.<subject> AS subject_id, o.op, o.attempts, o.created_at, o.leases AS lease, s.place, s.lane
)
SELECT outbox_id, subject_id, op, attempts, created_at, leased.lease, coalesce(h.first_left - 1, n.lane) AS next_lane
FROM leased CROSS JOIN next_lane AS n CROSS JOIN (
  SELECT min(h.lane) FILTER (WHERE h.lane NOT IN (SELECT l.lane FROM leased AS l)) AS first_left FROM heads AS h
) AS h
ORDER BY leased.place;

-- name: finish_jobs
-- Ends jobs whose subject is still as it was indexed, together with the older jobs they supersede. A job whose subject
-- changed meanwhile becomes due again, even one that somebody else ended: what was written to the index just now may
-- be older than what that one wrote. It is then for the workers of the version that the subject has by now.
WITH seen AS (
  SELECT DISTINCT ON (t.subject_id)
    t.subject_id, o.created_at AS newest, s.embedding_version,
    (s.changed_at, s.embedding_version) IS NOT DISTINCT FROM (t.changed_at, t.embedding_version) AS is_current
  FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[]) AS t (
    outbox_id, subject_id, changed_at, embedding_version)
  JOIN <outbox> AS o ON o.outbox_id = t.outbox_id
  LEFT JOIN <view> AS s ON s.subject_id = t.subject_id
  ORDER BY t.subject_id, o.created_at DESC
)
UPDATE <outbox> AS o
SET status = CASE WHEN seen.is_current THEN 'DONE' ELSE 'PENDING' END,
    embedding_version =
      CASE WHEN seen.is_current THEN o.embedding_version ELSE coalesce(seen.embedding_version, o.embedding_version) END,
    leases = o.leases + 1, available_at = now(), updated_at = now(), last_error = NULL
FROM seen
WHERE o.<subject> = seen.subject_id
  AND ((seen.is_current AND o.created_at <= seen.newest AND o.status <> 'DONE')
    OR (NOT seen.is_current AND o.outbox_id = ANY ($1::uuid[])));

-- name: readdress_jobs
-- Gives leased jobs to the workers of the version that their subjects have by now.
UPDATE <outbox> AS o
SET embedding_version = s.embedding_version, leases = o.leases + 1, available_at = now(), updated_at = now()
FROM <view> AS s
WHERE o.outbox_id = ANY ($1::uuid[]) AND s.subject_id = o.<subject> AND o.status <> 'DONE';

-- name: enqueue_indexing
-- Asks the workers of the subjects' versions, or else of version $3, to index them again; returns the jobs. Nobody asks for
-- subjects whose indexing was given up or discarded, but those that only have to go.
INSERT INTO <outbox> (outbox_id, <subject>, op, embedding_version, status)
SELECT gen_random_uuid(), t.subject_id, t.op, coalesce(s.embedding_version, $3), 'PENDING'
FROM unnest($1::uuid[], $2::text[]) AS t (subject_id, op)
LEFT JOIN <view> AS s ON s.subject_id = t.subject_id
WHERE s.is_active IS NOT TRUE OR NOT EXISTS (
  SELECT 1 FROM <outbox> AS o WHERE o.<subject> = t.subject_id AND o.status IN ('GIVEN_UP', 'DISCARDED'))
RETURNING outbox_id;

-- name: enqueue_written
-- Asks for subjects that were written in this transaction to be indexed, by the workers of their versions or else of
-- version $2. Their chunks are removed, unless they are those of all of the text that the subject has now: who reads
-- chunks and the subject at one moment, as a rebuild does, so never takes those of a former text for its. Of jobs that were
-- given up or discarded nothing is left: what they were about has changed.
WITH written AS MATERIALIZED (
  SELECT t.subject_id, s.text, s.is_active, s.tenant_id, coalesce(s.embedding_version, $2) AS embedding_version
  FROM unnest($1::uuid[]) AS t (subject_id)
  LEFT JOIN <view> AS s ON s.subject_id = t.subject_id
), cut AS MATERIALIZED (
  SELECT w.subject_id
  FROM written AS w
  JOIN <chunks> AS c ON c.<subject> = w.subject_id
  GROUP BY w.subject_id, w.text, w.is_active
  HAVING NOT w.is_active OR max(c.end_offset) <> char_length(w.text)
    OR bool_or(substr(w.text, c.start_offset + 1, c.end_offset - c.start_offset) <> c.text)
), removed AS (
  DELETE FROM <chunks> AS c USING cut WHERE c.<subject> = cut.subject_id
), ended AS (
  DELETE FROM <outbox> AS o WHERE o.<subject> = ANY ($1::uuid[]) AND o.status IN ('GIVEN_UP', 'DISCARDED')
)
INSERT INTO <outbox> (outbox_id, <subject>, op, embedding_version, status, lane)
SELECT gen_random_uuid(), w.subject_id, 'UPSERT', w.embedding_version, 'PENDING', coalesce(hashtextextended(w.tenant_id, 0), 0)
FROM written AS w;

-- name: moving_subjects
-- Those of the subjects that have an open job, or one that was worked on since $2: their points are on the way.
SELECT DISTINCT o.<subject> AS subject_id
FROM <outbox> AS o
WHERE o.<subject> = ANY ($1::uuid[]) AND (o.status IN ('PENDING', 'FAILED') OR o.updated_at >= $2);

-- name: given_up_subjects
-- Those of the subjects whose indexing was given up or discarded: their points stay as they are.
SELECT DISTINCT o.<subject> AS subject_id
FROM <outbox> AS o
WHERE o.<subject> = ANY ($1::uuid[]) AND o.status IN ('GIVEN_UP', 'DISCARDED');

-- name: open_jobs
-- Those of the jobs that are still to be done.
SELECT o.outbox_id FROM <outbox> AS o WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status IN ('PENDING', 'FAILED');

-- name: versions_of_open_jobs
-- The embedding versions for which jobs wait: one look at the index for each.
WITH RECURSIVE versions (embedding_version) AS (
  SELECT min(o.embedding_version) FROM <outbox> AS o WHERE o.status IN ('PENDING', 'FAILED')
  UNION ALL
  SELECT (
    SELECT min(o.embedding_version) FROM <outbox> AS o
    WHERE o.status IN ('PENDING', 'FAILED') AND o.embedding_version > v.embedding_version)
  FROM versions AS v
  WHERE v.embedding_version IS NOT NULL
)
SELECT embedding_version FROM versions WHERE embedding_version IS NOT NULL;

-- name: count_waiting_jobs
-- How many jobs of a version have been due for $2 and wait still; no more than $3 are counted.
SELECT count(*)
FROM (
  SELECT 1 FROM <outbox> AS o
  WHERE o.embedding_version = $1 AND o.status IN ('PENDING', 'FAILED') AND o.available_at < now() - $2::interval
  LIMIT $3) AS waiting;

-- name: adopt_jobs
-- Gives open jobs of version $1, whose processes are gone, to those of version $2; returns them.
UPDATE <outbox> AS o
SET embedding_version = $2, available_at = now(), updated_at = now()
FROM (
  SELECT j.outbox_id FROM <outbox> AS j
  WHERE j.embedding_version = $1 AND j.status IN ('PENDING', 'FAILED')
  ORDER BY j.available_at
  LIMIT $3
  FOR UPDATE SKIP LOCKED) AS due
WHERE o.outbox_id = due.outbox_id
RETURNING o.outbox_id;

-- name: drop_done_jobs
-- Removes jobs that were done before $1; an ended job's available_at is the moment it ended. Those that were given up or
-- discarded before go with their subject.
WITH done AS (
  SELECT outbox_id FROM <outbox>
  WHERE status = 'DONE' AND available_at < $1 AND updated_at < $1
  ORDER BY available_at LIMIT $2 FOR UPDATE SKIP LOCKED
), given_up AS (
  SELECT o.outbox_id FROM <outbox> AS o
  WHERE o.status IN ('GIVEN_UP', 'DISCARDED') AND o.updated_at < $1
    AND NOT EXISTS (SELECT 1 FROM <view> AS s WHERE s.subject_id = o.<subject>)
  LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM <outbox> WHERE outbox_id = ANY (ARRAY(
  SELECT outbox_id FROM done UNION ALL SELECT outbox_id FROM given_up LIMIT $2))
RETURNING outbox_id;
