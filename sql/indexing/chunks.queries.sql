-- The chunks of a corpus and their vectors: what the index is made of. The names in angle brackets are told in
-- jobs.queries.sql.

-- name: read_for_indexing
-- The subjects of a batch of jobs as they are now, each with its chunks and vectors of one embedding version, if any.
SELECT
  s.subject_id, s.text, s.created_at, s.changed_at, s.is_active, s.expires_at, s.embedding_version, <fields>,
  c.chunk_id, c.chunk_index, c.start_offset, c.end_offset, c.text AS chunk_text, c.chunking, e.vec
FROM <view> AS s
LEFT JOIN (
  <chunks> AS c
  JOIN <vectors> AS e ON e.chunk_id = c.chunk_id AND e.embedding_version = $2
) ON c.<subject> = s.subject_id AND c.embedding_version = $2
WHERE s.subject_id = ANY ($1::uuid[])
ORDER BY s.subject_id, c.chunk_index;

-- name: keep_vectors
-- Stores the chunks and vectors of those subjects that are still as they were read, removes the chunks they had beyond
-- these and the vectors of other models, and returns their ids with whether there were such chunks.
WITH unchanged AS MATERIALIZED (
  SELECT s.subject_id, s.embedding_version, t.chunk_count
  FROM <view> AS s
  JOIN unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::int[]) AS t (
    subject_id, changed_at, embedding_version, chunk_count)
    ON s.subject_id = t.subject_id AND s.changed_at = t.changed_at AND s.embedding_version = t.embedding_version
  ORDER BY s.subject_id
  FOR UPDATE OF s
), taken_over AS (
  UPDATE <rows> AS r SET embedding_version = $12
  FROM unchanged AS u
  WHERE r.<key> = u.subject_id AND u.embedding_version <> $12
), surplus AS (
  DELETE FROM <chunks> AS c
  USING unchanged AS u
  WHERE c.<subject> = u.subject_id AND c.chunk_index >= u.chunk_count
  RETURNING c.<subject>
), other_vectors AS (
  DELETE FROM <vectors> AS e
  USING unchanged AS u, <chunks> AS c
  WHERE c.<subject> = u.subject_id AND e.chunk_id = c.chunk_id AND e.embedding_version <> $12
), chunks AS (
  INSERT INTO <chunks> AS c (
    chunk_id, <subject>, chunk_index, start_offset, end_offset, text, embedding_version, chunking)
  SELECT t.chunk_id, t.subject_id, t.chunk_index, t.start_offset, t.end_offset, t.text, $12, $14
  FROM unnest($5::uuid[], $6::uuid[], $7::int[], $8::int[], $9::int[], $10::text[]) AS t (
    chunk_id, subject_id, chunk_index, start_offset, end_offset, text)
  JOIN unchanged USING (subject_id)
  ON CONFLICT (chunk_id) DO UPDATE SET
    start_offset = excluded.start_offset, end_offset = excluded.end_offset, text = excluded.text,
    embedding_version = excluded.embedding_version, chunking = excluded.chunking
), vectors AS (
  INSERT INTO <vectors> AS e (chunk_id, embedding_version, embedding_dim, vec)
  SELECT t.chunk_id, $12, $13, t.vec
  FROM unnest($5::uuid[], $6::uuid[], $11::vector[]) AS t (chunk_id, subject_id, vec)
  JOIN unchanged USING (subject_id)
  ON CONFLICT (chunk_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
)
SELECT u.subject_id, EXISTS (SELECT 1 FROM surplus AS s WHERE s.<subject> = u.subject_id) AS had_more
FROM unchanged AS u;

-- name: live_chunks
-- A page of what the index should hold, in chunk id order behind $1 (never null: an OR would keep the index from being
-- entered there), each with whether it has its vector.
SELECT c.chunk_id, c.<subject> AS subject_id, s.changed_at, e.chunk_id IS NOT NULL AS has_vector
FROM <chunks> AS c
JOIN <view> AS s ON s.subject_id = c.<subject>
LEFT JOIN LATERAL (
  SELECT v.chunk_id FROM <vectors> AS v
  WHERE v.chunk_id = c.chunk_id AND v.embedding_version = c.embedding_version OFFSET 0) AS e ON true
WHERE c.chunk_id > $1 AND s.is_active AND (s.expires_at IS NULL OR s.expires_at > $2)
ORDER BY c.chunk_id
LIMIT $3;

-- name: count_live_chunks
-- How many points the index should hold.
SELECT count(*)
FROM <chunks> AS c
JOIN <view> AS s ON s.subject_id = c.<subject>
WHERE s.is_active AND (s.expires_at IS NULL OR s.expires_at > $1);

-- name: count_live_subjects_without_chunks
-- How many live subjects have no chunk of the active embedding version: nothing of them can be written without a model.
SELECT count(*)
FROM <view> AS s
WHERE s.is_active AND (s.expires_at IS NULL OR s.expires_at > $2)
  AND NOT EXISTS (
    SELECT 1 FROM <chunks> AS c WHERE c.<subject> = s.subject_id AND c.embedding_version = $1);
