-- Reading notes: by id, as a page, and as the authoritative rows behind a search.

-- name: get_note
-- Reads one note by id, its reference as the JSON text that answers hold.
SELECT
  n.note_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.text, n.importance, n.confidence, n.status,
  n.created_at, n.updated_at, n.expires_at, n.source_ref::text AS source_ref
FROM memory_notes AS n WHERE n.note_id = $1;

-- name: threads_of_note
-- Where else a note was said.
SELECT array_agg(s.thread ORDER BY s.created_at, s.thread) FROM memory_note_sources AS s
WHERE s.note_id = $1 AND s.thread <> '';

-- name: texts_of_notes
-- Those of the notes that the project ($2, $3) shares or that are its agent $4's own, with a null for the agent no
-- agent's own; and their texts, as they are now, of those that are active at $5.
SELECT n.note_id, CASE WHEN n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $5) THEN n.text END AS text
FROM memory_notes AS n
WHERE n.note_id = ANY ($1::uuid[]) AND n.tenant_id = $2 AND n.project_id = $3
  AND (n.scope <> 'agent_private' OR n.agent_id = $4);

-- name: count_notes
-- How many notes there are of each status, over all tenants. One index holds the status, so no note is read for it.
SELECT n.status, count(*) AS notes FROM memory_notes AS n GROUP BY n.status;

-- name: overview_of_notes
-- How many notes can be found at $1, how many of them have no vectors of version $2, and how many are gone but not purged.
SELECT
  count(*) FILTER (WHERE t.is_live) AS notes,
  count(*) FILTER (WHERE t.is_live AND t.embedding_version <> $2) AS notes_to_embed,
  count(*) FILTER (WHERE NOT t.is_live AND t.status <> 'deprecated') AS deleted_notes
FROM (
  SELECT
    n.status, n.embedding_version, n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $1) AS is_live
  FROM memory_notes AS n
) AS t;

-- name: database_bytes
-- What this database takes on the server's disk.
SELECT pg_database_size(current_database());

-- name: list_notes
-- One page of a project's notes, newest first, behind the cursor ($7, $8). The status 'expired' means active by its
-- row but past its time; a null type does not filter, nor does a null beginning of the key ($12), or bound of the last
-- change (from $13 on, before $14), or conversation in which it was said ($15). The cursor is never null: `$7 IS NULL OR
-- ...` would keep a generic plan from starting at it. The page ends early, before the note whose reference makes all of them as JSON text
-- more than $11 bytes, but for the first; `has_next` tells whether any note comes after a row.
SELECT p.*
FROM (
  SELECT
    n.*, sum(octet_length(n.source_ref)) OVER (place ROWS UNBOUNDED PRECEDING) AS bytes,
    row_number() OVER place AS number, lead(true, 1, false) OVER place AS has_next
  FROM (
    SELECT
      n.note_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.text, n.importance, n.confidence,
      n.status, n.created_at, n.updated_at, n.expires_at, n.source_ref::text AS source_ref
    FROM memory_notes AS n
    WHERE n.tenant_id = $1 AND n.project_id = $2
      AND n.scope = ANY ($3::text[]) AND (n.scope <> 'agent_private' OR n.agent_id = $4)
      AND n.status = CASE $5::text WHEN 'expired' THEN 'active' ELSE $5::text END
      AND ($5::text = 'deleted' OR $5::text = 'deprecated'
        OR (n.expires_at IS NOT NULL AND n.expires_at <= $9) = ($5::text = 'expired'))
      AND ($6::text IS NULL OR n.type = $6) AND ($12::text IS NULL OR starts_with(n.key, $12))
      AND (n.updated_at >= $13::timestamptz) IS NOT FALSE AND (n.updated_at < $14::timestamptz) IS NOT FALSE
      AND ($15::text IS NULL OR n.source_ref ->> 'thread' = $15 OR EXISTS (
        SELECT FROM memory_note_sources AS s WHERE s.note_id = n.note_id AND s.thread = $15))
      AND (n.updated_at, n.note_id) < ($7::timestamptz, $8::uuid)
    ORDER BY n.updated_at DESC, n.note_id DESC
    LIMIT $10 + 1
  ) AS n
  WINDOW place AS (ORDER BY n.updated_at DESC, n.note_id DESC)
) AS p
WHERE p.bytes <= $11 OR p.number = 1
ORDER BY p.updated_at DESC, p.note_id DESC
LIMIT $10;

-- name: read_candidates
-- The authoritative rows behind candidate chunks: live, in scope, of the active embedding version, each with the text of
-- the chunk, and with that around it where it has neighbours. The chunks lead and their notes are looked up by id,
-- whatever the planner believes: while a young table has no statistics it would go through all notes of the project
-- instead. A neighbour is looked for only where there can be one; most notes are a single chunk. A large reference is
-- null, for few candidates become results; `read_references` has it. The token vectors of version $15, if there are any,
-- come along until they are those of $16 words, those of up to $17 words first, in the order of the chunks given. `unmet`
-- names what a note fails of the filter $8 to $14, of which a null holds for every note: types, the beginning of the key,
-- since and before the last change, since and before the creation, and objects of which the reference has to contain
-- one. No reference is read unless that one is given.
WITH wanted AS MATERIALIZED (
  SELECT
    c.chunk_id, c.note_id, c.chunk_index, c.start_offset, c.end_offset, c.text,
    array_position($1::uuid[], c.chunk_id) AS place
  FROM memory_note_chunks AS c
  WHERE c.chunk_id = ANY ($1::uuid[]) AND c.embedding_version = $2
)
SELECT
  n.note_id, n.agent_id, n.scope, n.type, n.key, n.importance, n.confidence, n.updated_at, n.expires_at,
  CASE WHEN pg_column_size(n.source_ref) <= 1024 THEN n.source_ref::text END AS source_ref,
  ARRAY(
    SELECT s.thread FROM memory_note_sources AS s WHERE s.note_id = n.note_id AND s.thread <> ''
    ORDER BY s.created_at, s.thread
  ) AS threads,
  length(n.text) AS note_chars, c.chunk_id, c.chunk_index, c.start_offset, c.end_offset, c.text,
  CASE WHEN before.start_offset IS NOT NULL OR behind.end_offset IS NOT NULL THEN substring(
    n.text FROM coalesce(before.start_offset, c.start_offset) + 1
    FOR coalesce(behind.end_offset, c.end_offset) - coalesce(before.start_offset, c.start_offset))
  END AS text_around,
  k.digest, k.tokens,
  CASE WHEN sum(k.tokens) OVER (ORDER BY k.tokens > $17, c.place) - k.tokens < $16 THEN k.vectors END AS vectors,
  CASE
    WHEN n.type <> ALL ($8::text[]) THEN 'type'
    WHEN $9::text IS NOT NULL AND starts_with(n.key, $9) IS NOT TRUE THEN 'key_prefix'
    WHEN n.updated_at < $10::timestamptz THEN 'updated_since'
    WHEN n.updated_at >= $11::timestamptz THEN 'updated_before'
    WHEN n.created_at < $12::timestamptz THEN 'created_since'
    WHEN n.created_at >= $13::timestamptz THEN 'created_before'
    WHEN NOT n.source_ref @> ANY ($14::jsonb[]) THEN 'source'
  END AS unmet
FROM wanted AS c
CROSS JOIN LATERAL (SELECT m.* FROM memory_notes AS m WHERE m.note_id = c.note_id OFFSET 0) AS n
LEFT JOIN LATERAL (
  SELECT b.start_offset FROM memory_note_chunks AS b
  WHERE c.chunk_index > 0 AND b.note_id = c.note_id AND b.chunk_index = c.chunk_index - 1 OFFSET 0) AS before ON true
LEFT JOIN LATERAL (
  SELECT b.end_offset FROM memory_note_chunks AS b
  WHERE c.end_offset < length(n.text) AND b.note_id = c.note_id AND b.chunk_index = c.chunk_index + 1 OFFSET 0
) AS behind ON true
LEFT JOIN LATERAL (
  SELECT t.digest, t.tokens, t.vectors FROM note_chunk_tokens AS t
  WHERE t.chunk_id = c.chunk_id AND t.version = $15 OFFSET 0) AS k ON true
WHERE n.tenant_id = $3 AND n.project_id = $4
  AND n.scope = ANY ($6::text[]) AND (n.scope <> 'agent_private' OR n.agent_id = $5)
  AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $7);

-- name: unchanged_notes
-- Those of the notes that are live and were last changed just then, looked up by id as in read_candidates.
SELECT n.note_id
FROM unnest($1::uuid[], $2::timestamptz[]) AS t (note_id, updated_at)
CROSS JOIN LATERAL (
  SELECT m.note_id, m.updated_at, m.status, m.expires_at FROM memory_notes AS m WHERE m.note_id = t.note_id OFFSET 0
) AS n
WHERE n.updated_at = t.updated_at AND n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $3);

-- name: read_references
-- The references, as JSON text, of those of the notes that were last changed just then.
SELECT n.note_id, n.source_ref::text AS source_ref
FROM unnest($1::uuid[], $2::timestamptz[]) AS t (note_id, updated_at)
JOIN memory_notes AS n ON n.note_id = t.note_id AND n.updated_at = t.updated_at;

-- name: record_hits
-- Counts hits and logs them, in one statement. The notes are locked in order: searches meet in the popular ones. A note
-- that was purged meanwhile gets no hit.
WITH locked AS (
  SELECT n.note_id FROM memory_notes AS n WHERE n.note_id = ANY ($1::uuid[]) ORDER BY n.note_id FOR NO KEY UPDATE
), hits AS (
  INSERT INTO memory_hits (hit_id, note_id, chunk_id, query_hash, rank, final_score, ts)
  SELECT gen_random_uuid(), t.note_id, t.chunk_id, $5, t.rank, t.final_score, $6
  FROM unnest($1::uuid[], $2::uuid[], $3::int[], $4::real[]) AS t (note_id, chunk_id, rank, final_score)
  JOIN locked USING (note_id)
)
UPDATE memory_notes AS n SET hit_count = n.hit_count + 1, last_hit_at = $6
FROM locked WHERE n.note_id = locked.note_id;
