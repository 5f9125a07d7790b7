-- Writing notes: locks, lookups of the resolver, and the set-based writes of one transaction.

-- name: lock_groups
-- Serialises writers of the same resolution groups until the transaction ends; keys are locked in ascending order.
SELECT pg_advisory_xact_lock(g.lock_key)
FROM (SELECT DISTINCT k AS lock_key FROM unnest($1::bigint[]) AS k ORDER BY k) AS g;

-- name: lock_notes_by_key
-- Finds and locks the active notes that hold these (scope, type, key) triples of one agent.
SELECT n.*
FROM memory_notes AS n
JOIN unnest($4::text[], $5::text[], $6::text[]) AS wanted (scope, type, key)
  ON n.scope = wanted.scope AND n.type = wanted.type AND n.key = wanted.key
WHERE n.tenant_id = $1 AND n.project_id = $2 AND n.agent_id = $3 AND n.status = 'active'
ORDER BY n.note_id
FOR UPDATE OF n;

-- name: nearest_in_group
-- Finds the live notes of one resolution group whose pooled vectors are closest to the given one, and how similar they are.
-- The given one has a direction; notes whose stored one has none are like no other.
SELECT n.note_id, n.updated_at, n.text, 1 - (e.vec <=> $7) AS similarity
FROM memory_notes AS n
JOIN note_embeddings AS e ON e.note_id = n.note_id AND e.embedding_version = $6
WHERE n.tenant_id = $1 AND n.project_id = $2 AND n.agent_id = $3 AND n.scope = $4 AND n.type = $5
  AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $8)
  AND NOT n.note_id = ANY ($9::uuid[]) AND has_direction(e.vec)
ORDER BY e.vec <=> $7, n.note_id
LIMIT $10;

-- name: same_text_in_group
-- Finds a live note of one resolution group with exactly this text; works while no vector can be computed.
SELECT n.note_id, n.updated_at, n.text, 1.0 AS similarity
FROM memory_notes AS n
WHERE n.tenant_id = $1 AND n.project_id = $2 AND n.agent_id = $3 AND n.scope = $4 AND n.type = $5
  AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $7)
  AND md5(n.text) = md5($6) AND n.text = $6
  AND NOT n.note_id = ANY ($8::uuid[])
ORDER BY n.created_at, n.note_id
LIMIT 1;

-- name: lock_note
-- Reads and locks one note by id.
SELECT n.* FROM memory_notes AS n WHERE n.note_id = $1 FOR UPDATE OF n;

-- name: write_notes
-- Inserts or replaces notes, appends their versions, enqueues one indexing job a note, drops the chunks of texts that
-- changed (their vectors go with them) and records decisions: everything one request writes, in one round trip.
WITH dropped AS (
  DELETE FROM memory_note_chunks WHERE note_id = ANY ($28::uuid[])
), dropped_pooled AS (
  DELETE FROM note_embeddings WHERE note_id = ANY ($28::uuid[])
), written AS (
  INSERT INTO memory_notes AS n (
    note_id, tenant_id, project_id, agent_id, scope, type, key, text, importance, confidence, status,
    created_at, updated_at, expires_at, requested_ttl_days, embedding_version, source_ref)
  SELECT * FROM unnest(
    $1::uuid[], $2::text[], $3::text[], $4::text[], $5::text[], $6::text[], $7::text[], $8::text[], $9::real[],
    $10::real[], $11::text[], $12::timestamptz[], $13::timestamptz[], $14::timestamptz[],
    $15::double precision[], $16::text[], $17::jsonb[])
  ON CONFLICT (note_id) DO UPDATE SET
    text = excluded.text, importance = excluded.importance, confidence = excluded.confidence,
    status = excluded.status, updated_at = excluded.updated_at, expires_at = excluded.expires_at,
    requested_ttl_days = excluded.requested_ttl_days, embedding_version = excluded.embedding_version,
    source_ref = excluded.source_ref
), versions AS (
  INSERT INTO memory_note_versions (version_id, note_id, op, prev_snapshot, new_snapshot, reason, actor, ts)
  SELECT * FROM unnest(
    $18::uuid[], $19::uuid[], $20::text[], $21::jsonb[], $22::jsonb[], $23::text[], $24::text[],
    $25::timestamptz[])
), decisions AS (
  INSERT INTO memory_ingest_decisions (
    tenant_id, project_id, agent_id, actor, ts, policy,
    scope, type, keyed, text_chars, note_id, op, reason_code, reason, similarity, matched_note_id,
    dropped_text)
  SELECT $30::text, $31::text, $32::text, $33::text, $34::timestamptz, $35::jsonb, decision.*
  FROM unnest(
    $36::text[], $37::text[], $38::boolean[], $39::int[], $40::uuid[], $41::text[], $42::text[], $43::text[],
    $44::real[], $45::uuid[], $46::text[]) AS decision
), ended AS (
  DELETE FROM indexing_outbox WHERE note_id = ANY ($26::uuid[]) AND status IN ('GIVEN_UP', 'DISCARDED')
)
INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status, lane)
SELECT gen_random_uuid(), job.note_id, job.op, job.embedding_version, 'PENDING', coalesce(hashtextextended($30::text, 0), 0)
FROM unnest($26::uuid[], $27::text[], $29::text[]) AS job (note_id, op, embedding_version);

-- name: write_chunks
-- Stores chunks, their vectors and the pooled vectors (may be null) of their notes, replacing what is there.
WITH chunks AS (
  INSERT INTO memory_note_chunks AS c (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text, embedding_version, chunking)
  SELECT t.chunk_id, t.note_id, t.chunk_index, t.start_offset, t.end_offset, t.text, $8, $12
  FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::int[], $5::int[], $6::text[]) AS t (
    chunk_id, note_id, chunk_index, start_offset, end_offset, text)
  ON CONFLICT (chunk_id) DO UPDATE SET
    start_offset = excluded.start_offset, end_offset = excluded.end_offset, text = excluded.text,
    embedding_version = excluded.embedding_version, chunking = excluded.chunking
), vectors AS (
  INSERT INTO note_chunk_embeddings AS e (chunk_id, embedding_version, embedding_dim, vec)
  SELECT t.chunk_id, $8, $9, t.vec FROM unnest($1::uuid[], $7::vector[]) AS t (chunk_id, vec)
  ON CONFLICT (chunk_id, embedding_version) DO UPDATE SET
    vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now()
)
INSERT INTO note_embeddings AS p (note_id, embedding_version, embedding_dim, vec)
SELECT t.note_id, $8, $9, t.vec FROM unnest($10::uuid[], $11::vector[]) AS t (note_id, vec) WHERE t.vec IS NOT NULL
ON CONFLICT (note_id, embedding_version) DO UPDATE SET
  vec = excluded.vec, embedding_dim = excluded.embedding_dim, created_at = now();

-- name: add_note_sources
-- Keeps that notes were said elsewhere, too, unless that is where their references say so.
INSERT INTO memory_note_sources AS s (note_id, thread, source_ref, created_at)
SELECT DISTINCT ON (t.note_id, t.thread) t.note_id, t.thread, t.source_ref, $4
FROM unnest($1::uuid[], $2::text[], $3::jsonb[]) AS t (note_id, thread, source_ref)
JOIN memory_notes AS n ON n.note_id = t.note_id AND coalesce(n.source_ref ->> 'thread', '') <> t.thread
ON CONFLICT (note_id, thread) DO NOTHING;

-- name: drop_note_source
-- Removes a source of a locked note; tells whether it was one beside that of its reference.
DELETE FROM memory_note_sources AS s WHERE s.note_id = $1 AND s.thread = $2 RETURNING s.note_id;

-- name: take_note_source
-- Removes the oldest other source of a locked note, whose reference is the note's from now on.
DELETE FROM memory_note_sources AS s WHERE (s.note_id, s.thread) = (
  SELECT o.note_id, o.thread FROM memory_note_sources AS o WHERE o.note_id = $1 ORDER BY o.created_at, o.thread LIMIT 1)
RETURNING s.source_ref;
