-- Where the indexing of notes is not that of every corpus (sql/indexing).

-- name: keep_vectors
-- As that of every corpus, with the notes' pooled vectors ($15, may be null).
WITH unchanged AS MATERIALIZED (
  SELECT n.note_id, n.embedding_version, t.chunk_count
  FROM memory_notes AS n
  JOIN unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::int[]) AS t (
    note_id, updated_at, embedding_version, chunk_count)
    ON n.note_id = t.note_id AND n.updated_at = t.updated_at AND n.embedding_version = t.embedding_version
  ORDER BY n.note_id
  FOR UPDATE OF n
), taken_over AS (
  UPDATE memory_notes AS n SET embedding_version = $12
  FROM unchanged AS u
  WHERE n.note_id = u.note_id AND u.embedding_version <> $12
), surplus AS (
  DELETE FROM memory_note_chunks AS c
  USING unchanged AS u
  WHERE c.note_id = u.note_id AND c.chunk_index >= u.chunk_count
  RETURNING c.note_id
), other_vectors AS (
  DELETE FROM note_chunk_embeddings AS e
  USING unchanged AS u, memory_note_chunks AS c
  WHERE c.note_id = u.note_id AND e.chunk_id = c.chunk_id AND e.embedding_version <> $12
), other_pooled AS (
  DELETE FROM note_embeddings AS p USING unchanged AS u
  WHERE p.note_id = u.note_id AND p.embedding_version <> $12
), chunks AS (
  INSERT INTO memory_note_chunks AS c (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version, chunking)
  SELECT t.chunk_id, t.note_id, t.chunk_index, t.start_offset, t.end_offset, t.text, $12, $14
  FROM unnest($5::uuid[], $6::uuid[], $7::int[], $8::int[], $9::int[], $10::text[]) AS t (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text)
  JOIN unchanged USING (note_id)
  ON CONFLICT (chunk_id) DO UPDATE SET
    start_offset = excluded.start_offset, end_offset = excluded.end_offset, text = excluded.text,
    embedding_version = excluded.embedding_version, chunking = excluded.chunking
), vectors AS (
  INSERT INTO note_chunk_embeddings AS e (chunk_id, embedding_version, embedding_dim, vec)
  SELECT t.chunk_id, $12, $13, t.vec
  FROM unnest($5::uuid[], $6::uuid[], $11::vector[]) AS t (chunk_id, note_id, vec)
  JOIN unchanged USING (note_id)
  ON CONFLICT (chunk_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
), pooled AS (
  INSERT INTO note_embeddings AS p (note_id, embedding_version, embedding_dim, vec)
  SELECT t.note_id, $12, $13, t.vec
  FROM unnest($1::uuid[], $15::vector[]) AS t (note_id, vec)
  JOIN unchanged USING (note_id)
  WHERE t.vec IS NOT NULL
  ON CONFLICT (note_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
)
SELECT u.note_id AS subject_id, EXISTS (SELECT 1 FROM surplus AS s WHERE s.note_id = u.note_id) AS had_more
FROM unchanged AS u;
