-- Working off the indexing outbox, and comparing the index with the truth.

-- name: lease_jobs
-- Leases the first due jobs of one embedding version, as many as hold $4 bytes of text, but one at least: their
-- available_at is pushed forward, so a job whose worker dies comes back by itself. The length of a text is known without
-- reading it. Jobs that came due at once were made by one statement, and stand in the table as they were inserted.
WITH due AS MATERIALIZED (
  SELECT outbox_id, note_id, available_at, ctid
  FROM indexing_outbox
  WHERE embedding_version = $3 AND status IN ('PENDING', 'FAILED') AND available_at <= now()
  ORDER BY available_at
  LIMIT $1
  FOR UPDATE SKIP LOCKED
), queue AS (
  SELECT d.outbox_id, row_number() OVER line AS place, sum(coalesce(octet_length(n.text), 0)) OVER line AS bytes
  FROM due AS d
  LEFT JOIN memory_notes AS n ON n.note_id = d.note_id
  WINDOW line AS (ORDER BY d.available_at, d.ctid ROWS UNBOUNDED PRECEDING)
), leased AS (
  UPDATE indexing_outbox AS o
  SET available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM queue AS q
  WHERE o.outbox_id = q.outbox_id AND (q.bytes <= $4 OR q.place = 1)
  RETURNING o.outbox_id, o.note_id AS subject_id, o.op, o.attempts, o.created_at, o.leases AS lease, q.place
)
SELECT outbox_id, subject_id, op, attempts, created_at, lease FROM leased ORDER BY place;

-- name: finish_jobs
-- Ends jobs whose note is still as it was indexed, together with the older jobs they supersede. A job whose note
-- changed meanwhile becomes due again, even one that somebody else ended: what was written to the index just now may
-- be older than what that one wrote. It is then for the workers of the version that the note has by now.
WITH seen AS (
  SELECT DISTINCT ON (t.note_id)
    t.note_id, o.created_at AS newest, n.embedding_version,
    (n.updated_at, n.embedding_version) IS NOT DISTINCT FROM (t.updated_at, t.embedding_version) AS is_current
  FROM unnest($1::uuid[], $2::uuid[], $3::timestamptz[], $4::text[]) AS t (
    outbox_id, note_id, updated_at, embedding_version)
  JOIN indexing_outbox AS o ON o.outbox_id = t.outbox_id
  LEFT JOIN memory_notes AS n ON n.note_id = t.note_id
  ORDER BY t.note_id, o.created_at DESC
)
UPDATE indexing_outbox AS o
SET status = CASE WHEN seen.is_current THEN 'DONE' ELSE 'PENDING' END,
    embedding_version =
      CASE WHEN seen.is_current THEN o.embedding_version ELSE coalesce(seen.embedding_version, o.embedding_version) END,
    available_at = now(), updated_at = now(), last_error = NULL
FROM seen
WHERE o.note_id = seen.note_id
  AND ((seen.is_current AND o.created_at <= seen.newest AND o.status <> 'DONE')
    OR (NOT seen.is_current AND o.outbox_id = ANY ($1::uuid[])));

-- name: readdress_jobs
-- Gives leased jobs to the workers of the version that their notes have by now.
UPDATE indexing_outbox AS o
SET embedding_version = n.embedding_version, available_at = now(), updated_at = now()
FROM memory_notes AS n
WHERE o.outbox_id = ANY ($1::uuid[]) AND n.note_id = o.note_id AND o.status <> 'DONE';

-- name: read_for_indexing
-- The notes of a batch of jobs as they are now, each with its chunks and vectors of one embedding version, if any.
-- `source` is the reference, null for a large one.
SELECT
  n.note_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.text, n.importance, n.confidence, n.status,
  n.created_at, n.updated_at, n.expires_at, n.requested_ttl_days, n.embedding_version, '{}'::jsonb AS source_ref,
  CASE WHEN pg_column_size(n.source_ref) <= 2048 THEN n.source_ref END AS source,
  c.chunk_id, c.chunk_index, c.start_offset, c.end_offset, c.text AS chunk_text, c.chunking, e.vec
FROM memory_notes AS n
LEFT JOIN (
  memory_note_chunks AS c
  JOIN note_chunk_embeddings AS e ON e.chunk_id = c.chunk_id AND e.embedding_version = $2
) ON c.note_id = n.note_id AND c.embedding_version = $2
WHERE n.note_id = ANY ($1::uuid[])
ORDER BY n.note_id, c.chunk_index;

-- name: keep_vectors
-- Stores the chunks, vectors and pooled vectors (may be null) of those notes that are still as they were read, removes
-- the chunks they had beyond these and the vectors of other models, and returns their ids with whether there were such
-- chunks.
WITH unchanged AS MATERIALIZED (
  SELECT n.note_id, n.embedding_version, t.chunk_count
  FROM memory_notes AS n
  JOIN unnest($1::uuid[], $2::timestamptz[], $3::text[], $4::int[]) AS t (
    note_id, updated_at, embedding_version, chunk_count)
    ON n.note_id = t.note_id AND n.updated_at = t.updated_at AND n.embedding_version = t.embedding_version
  ORDER BY n.note_id
  FOR UPDATE OF n
), taken_over AS (
  UPDATE memory_notes AS n SET embedding_version = $13
  FROM unchanged AS u
  WHERE n.note_id = u.note_id AND u.embedding_version <> $13
), surplus AS (
  DELETE FROM memory_note_chunks AS c
  USING unchanged AS u
  WHERE c.note_id = u.note_id AND c.chunk_index >= u.chunk_count
  RETURNING c.note_id
), other_vectors AS (
  DELETE FROM note_chunk_embeddings AS e
  USING unchanged AS u, memory_note_chunks AS c
  WHERE c.note_id = u.note_id AND e.chunk_id = c.chunk_id AND e.embedding_version <> $13
), other_pooled AS (
  DELETE FROM note_embeddings AS p USING unchanged AS u
  WHERE p.note_id = u.note_id AND p.embedding_version <> $13
), chunks AS (
  INSERT INTO memory_note_chunks AS c (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version, chunking)
  SELECT t.chunk_id, t.note_id, t.chunk_index, t.start_offset, t.end_offset, t.text, $13, $15
  FROM unnest($5::uuid[], $6::uuid[], $7::int[], $8::int[], $9::int[], $10::text[]) AS t (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text)
  JOIN unchanged USING (note_id)
  ON CONFLICT (chunk_id) DO UPDATE SET
    start_offset = excluded.start_offset, end_offset = excluded.end_offset, text = excluded.text,
    embedding_version = excluded.embedding_version, chunking = excluded.chunking
), vectors AS (
  INSERT INTO note_chunk_embeddings AS e (chunk_id, embedding_version, embedding_dim, vec)
  SELECT t.chunk_id, $13, $14, t.vec
  FROM unnest($5::uuid[], $6::uuid[], $11::vector[]) AS t (chunk_id, note_id, vec)
  JOIN unchanged USING (note_id)
  ON CONFLICT (chunk_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
), pooled AS (
  INSERT INTO note_embeddings AS p (note_id, embedding_version, embedding_dim, vec)
  SELECT t.note_id, $13, $14, t.vec
  FROM unnest($1::uuid[], $12::vector[]) AS t (note_id, vec)
  JOIN unchanged USING (note_id)
  WHERE t.vec IS NOT NULL
  ON CONFLICT (note_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
)
SELECT u.note_id, EXISTS (SELECT 1 FROM surplus AS s WHERE s.note_id = u.note_id) AS had_more
FROM unchanged AS u;

-- name: live_chunks
-- A page of what the index should hold, in chunk id order behind $1 (never null, for the same reason as in list_notes),
-- each with whether it has its vector.
SELECT c.chunk_id, c.note_id AS subject_id, n.updated_at, e.chunk_id IS NOT NULL AS has_vector
FROM memory_note_chunks AS c
JOIN memory_notes AS n ON n.note_id = c.note_id
LEFT JOIN LATERAL (
  SELECT v.chunk_id FROM note_chunk_embeddings AS v
  WHERE v.chunk_id = c.chunk_id AND v.embedding_version = c.embedding_version OFFSET 0) AS e ON true
WHERE c.chunk_id > $1 AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $2)
ORDER BY c.chunk_id
LIMIT $3;

-- name: count_live_chunks
-- How many points the index should hold.
SELECT count(*)
FROM memory_note_chunks AS c
JOIN memory_notes AS n ON n.note_id = c.note_id
WHERE n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $1);

-- name: enqueue_indexing
-- Asks the workers of the notes' versions, or else of version $3, to index notes again; returns the jobs.
INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
SELECT gen_random_uuid(), t.note_id, t.op, coalesce(n.embedding_version, $3), 'PENDING'
FROM unnest($1::uuid[], $2::text[]) AS t (note_id, op)
LEFT JOIN memory_notes AS n ON n.note_id = t.note_id
RETURNING outbox_id;
