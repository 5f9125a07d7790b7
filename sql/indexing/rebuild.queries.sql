-- Writing the index anew from what Postgres holds. The protocol by which a rebuild and the indexers share the points of a
-- subject is told in elf/indexing/leased_points.py; the names in angle brackets are told in jobs.queries.sql.

-- name: lease_rebuild_page
-- A page of chunks in the order of their subjects behind ($1, $2), each with its vector (null when there is none that
-- has a direction), its subject as it is now and a leased job for that subject. Rows and vectors are looked up by id,
-- whatever the planner believes. Subjects whose indexing was given up or discarded are passed over: a job for them might
-- outlive the rebuild.
WITH page AS MATERIALIZED (
  SELECT
    c.chunk_id, c.<subject>, c.chunk_index, c.start_offset, c.end_offset, c.text AS chunk_text, c.chunking,
    c.embedding_version AS chunk_version
  FROM <chunks> AS c
  WHERE (c.<subject>, c.chunk_index) > ($1::uuid, $2::int)
    AND c.<subject> <> ALL (ARRAY(SELECT o.<subject> FROM <outbox> AS o WHERE o.status IN ('GIVEN_UP', 'DISCARDED')))
  ORDER BY c.<subject>, c.chunk_index
  LIMIT $4
), jobs AS (
  INSERT INTO <outbox> (outbox_id, <subject>, op, embedding_version, status, available_at)
  SELECT gen_random_uuid(), t.<subject>, 'UPSERT', t.chunk_version, 'PENDING', now() + $5::interval
  FROM (SELECT <subject>, min(chunk_version) AS chunk_version FROM page GROUP BY <subject>) AS t
  RETURNING outbox_id, <subject>
)
SELECT
  p.<subject> AS subject_id, p.chunk_id, p.chunk_index, p.start_offset, p.end_offset, p.chunk_text, p.chunking,
  p.chunk_version, jobs.outbox_id, s.created_at, s.changed_at, s.expires_at,
  coalesce(s.is_active AND (s.expires_at IS NULL OR s.expires_at > $3), false) AS is_live, <fields>, e.vec
FROM page AS p
JOIN jobs ON jobs.<subject> = p.<subject>
LEFT JOIN LATERAL (SELECT v.* FROM <view> AS v WHERE v.subject_id = p.<subject> OFFSET 0) AS s ON true
LEFT JOIN LATERAL (
  SELECT v.vec FROM <vectors> AS v
  WHERE v.chunk_id = p.chunk_id AND v.embedding_version = p.chunk_version OFFSET 0) AS e ON has_direction(e.vec)
ORDER BY p.<subject>, p.chunk_index;

-- name: lease_strays
-- Those of the points $1 (with their owners $2) that are no live chunks, each with a leased job for its subject, and
-- the subject's changed_at when there still is one. Those of active subjects whose indexing was given up or discarded stay.
WITH strays AS MATERIALIZED (
  SELECT t.point_id, t.subject_id, s.changed_at, s.embedding_version
  FROM unnest($1::uuid[], $2::uuid[]) AS t (point_id, subject_id)
  LEFT JOIN LATERAL (SELECT v.* FROM <view> AS v WHERE v.subject_id = t.subject_id OFFSET 0) AS s ON true
  LEFT JOIN LATERAL (
    SELECT c.<subject> FROM <chunks> AS c
    WHERE c.chunk_id = t.point_id OFFSET 0) AS c ON c.<subject> = t.subject_id
  WHERE (c.<subject> IS NOT NULL AND s.is_active AND (s.expires_at IS NULL OR s.expires_at > $4)) IS NOT TRUE
    AND (s.is_active IS NOT TRUE OR NOT EXISTS (
      SELECT 1 FROM <outbox> AS o WHERE o.<subject> = t.subject_id AND o.status IN ('GIVEN_UP', 'DISCARDED')))
), jobs AS (
  INSERT INTO <outbox> (outbox_id, <subject>, op, embedding_version, status, available_at)
  SELECT gen_random_uuid(), t.subject_id, 'DELETE', coalesce(t.embedding_version, $3), 'PENDING', now() + $5::interval
  FROM (SELECT DISTINCT subject_id, embedding_version FROM strays) AS t
  RETURNING outbox_id, <subject>
)
SELECT s.point_id, s.subject_id, s.changed_at, jobs.outbox_id
FROM strays AS s
JOIN jobs ON jobs.<subject> = s.subject_id;

-- name: end_leased
-- Ends leased jobs: one whose subject is still as it was read is removed, any other becomes due and is returned, because
-- what was written to the index may be older than what an indexer wrote meanwhile. A point that was deleted ($4, else
-- null) must not have become a live chunk, and chunks that points were made of must be of the version and chunking that
-- they had ($6 and $7, else null): storing vectors leaves changed_at as it is.
WITH seen AS MATERIALIZED (
  SELECT t.outbox_id, bool_and(
    s.changed_at IS NOT DISTINCT FROM t.changed_at
    AND (c.<subject> IS NOT NULL AND s.is_active AND (s.expires_at IS NULL OR s.expires_at > $5)) IS NOT TRUE
    AND (t.version IS NULL OR NOT EXISTS (
      SELECT 1 FROM <chunks> AS k
      WHERE k.<subject> = t.subject_id AND (k.embedding_version, k.chunking) IS DISTINCT FROM (t.version, t.chunking)))
  ) AS is_current
  FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $6::text[], $7::text[]) AS t (
    outbox_id, subject_id, changed_at, point_id, version, chunking)
  LEFT JOIN LATERAL (SELECT v.* FROM <view> AS v WHERE v.subject_id = t.subject_id OFFSET 0) AS s ON true
  LEFT JOIN LATERAL (
    SELECT c.<subject> FROM <chunks> AS c
    WHERE c.chunk_id = t.point_id OFFSET 0) AS c ON c.<subject> = t.subject_id
  GROUP BY t.outbox_id
), ended AS (
  DELETE FROM <outbox> AS o USING seen WHERE o.outbox_id = seen.outbox_id AND seen.is_current
)
UPDATE <outbox> AS o SET status = 'PENDING', op = 'DELETE', available_at = now(), updated_at = now()
FROM seen
WHERE o.outbox_id = seen.outbox_id AND NOT seen.is_current
RETURNING o.<subject>;
