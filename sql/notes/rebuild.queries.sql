-- Writing the index anew from what Postgres holds, and seeing how far the two are apart. The protocol by which a
-- rebuild and the indexers share the points of a note is told in elf/indexing/leased_points.py.

-- name: count_live_subjects_without_chunks
-- How many live notes have no chunk of the active embedding version: nothing of them can be written without a model.
SELECT count(*)
FROM memory_notes AS n
WHERE n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $2)
  AND NOT EXISTS (
    SELECT 1 FROM memory_note_chunks AS c WHERE c.note_id = n.note_id AND c.embedding_version = $1);

-- name: lease_rebuild_page
-- A page of chunks in the order of their notes behind ($1, $2), each with its vector (null when there is none that has a
-- direction), its note as it is now (without the texts that no point holds; `source` is the reference, null for a
-- large one) and a leased job for that note. Rows and
-- vectors are looked up by id, whatever the planner believes.
WITH page AS MATERIALIZED (
  SELECT
    c.chunk_id, c.note_id, c.chunk_index, c.start_offset, c.end_offset, c.text AS chunk_text, c.chunking,
    c.embedding_version AS chunk_version
  FROM memory_note_chunks AS c
  WHERE (c.note_id, c.chunk_index) > ($1::uuid, $2::int)
  ORDER BY c.note_id, c.chunk_index
  LIMIT $4
), jobs AS (
  INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status, available_at)
  SELECT gen_random_uuid(), t.note_id, 'UPSERT', t.chunk_version, 'PENDING', now() + $5::interval
  FROM (SELECT note_id, min(chunk_version) AS chunk_version FROM page GROUP BY note_id) AS t
  RETURNING outbox_id, note_id
)
SELECT
  p.*, p.note_id AS subject_id, jobs.outbox_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.importance, n.confidence,
  n.status, n.created_at, n.updated_at, n.expires_at, n.requested_ttl_days, n.embedding_version, '' AS text,
  '{}'::jsonb AS source_ref, CASE WHEN pg_column_size(n.source_ref) <= 2048 THEN n.source_ref END AS source,
  n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $3) AS is_live, e.vec
FROM page AS p
JOIN jobs ON jobs.note_id = p.note_id
CROSS JOIN LATERAL (SELECT m.* FROM memory_notes AS m WHERE m.note_id = p.note_id OFFSET 0) AS n
LEFT JOIN LATERAL (
  SELECT v.vec FROM note_chunk_embeddings AS v
  WHERE v.chunk_id = p.chunk_id AND v.embedding_version = p.chunk_version OFFSET 0) AS e ON has_direction(e.vec)
ORDER BY p.note_id, p.chunk_index;

-- name: lease_strays
-- Those of the points $1 (with their owners $2) that are no live chunks, each with a leased job for its note, and the
-- note's updated_at when there still is one.
WITH strays AS MATERIALIZED (
  SELECT t.point_id, t.note_id, n.updated_at, n.embedding_version
  FROM unnest($1::uuid[], $2::uuid[]) AS t (point_id, note_id)
  LEFT JOIN LATERAL (SELECT m.* FROM memory_notes AS m WHERE m.note_id = t.note_id OFFSET 0) AS n ON true
  LEFT JOIN LATERAL (
    SELECT c.note_id FROM memory_note_chunks AS c
    WHERE c.chunk_id = t.point_id OFFSET 0) AS c ON c.note_id = t.note_id
  WHERE (c.note_id IS NOT NULL AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $4)) IS NOT TRUE
), jobs AS (
  INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status, available_at)
  SELECT gen_random_uuid(), t.note_id, 'DELETE', coalesce(t.embedding_version, $3), 'PENDING', now() + $5::interval
  FROM (SELECT DISTINCT note_id, embedding_version FROM strays) AS t
  RETURNING outbox_id, note_id
)
SELECT s.point_id, s.note_id AS subject_id, s.updated_at, jobs.outbox_id
FROM strays AS s
JOIN jobs ON jobs.note_id = s.note_id;

-- name: end_leased
-- Ends leased jobs: one whose note is still as it was read is removed, any other becomes due and is returned, because
-- what was written to the index may be older than what an indexer wrote meanwhile. A point that was deleted ($4, else
-- null) must not have become a live chunk, and chunks that points were made of must be of the version and chunking that
-- they had ($6 and $7, else null): storing vectors leaves updated_at as it is.
WITH seen AS MATERIALIZED (
  SELECT t.outbox_id, bool_and(
    n.updated_at IS NOT DISTINCT FROM t.updated_at
    AND (c.note_id IS NOT NULL AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $5)) IS NOT TRUE
    AND (t.version IS NULL OR NOT EXISTS (
      SELECT 1 FROM memory_note_chunks AS k
      WHERE k.note_id = t.note_id AND (k.embedding_version, k.chunking) IS DISTINCT FROM (t.version, t.chunking)))
  ) AS is_current
  FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::uuid[], $6::text[], $7::text[]) AS t (
    outbox_id, note_id, updated_at, point_id, version, chunking)
  LEFT JOIN LATERAL (SELECT m.* FROM memory_notes AS m WHERE m.note_id = t.note_id OFFSET 0) AS n ON true
  LEFT JOIN LATERAL (
    SELECT c.note_id FROM memory_note_chunks AS c
    WHERE c.chunk_id = t.point_id OFFSET 0) AS c ON c.note_id = t.note_id
  GROUP BY t.outbox_id
), ended AS (
  DELETE FROM indexing_outbox AS o USING seen WHERE o.outbox_id = seen.outbox_id AND seen.is_current
)
UPDATE indexing_outbox AS o SET status = 'PENDING', op = 'DELETE', available_at = now(), updated_at = now()
FROM seen
WHERE o.outbox_id = seen.outbox_id AND NOT seen.is_current
RETURNING o.note_id;

-- name: moving_subjects
-- Those of the notes that have an open job, or one that was worked on since $2: their points are on the way.
SELECT DISTINCT o.note_id AS subject_id
FROM indexing_outbox AS o
WHERE o.note_id = ANY ($1::uuid[]) AND (o.status IN ('PENDING', 'FAILED') OR o.updated_at >= $2);

-- name: open_jobs
-- Those of the jobs that are not done yet.
SELECT o.outbox_id FROM indexing_outbox AS o WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status <> 'DONE';
