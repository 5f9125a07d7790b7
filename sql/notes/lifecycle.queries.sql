-- How notes age: expiry, purges, and doing away with what is done. Each statement takes a batch and passes over rows
-- that somebody else works on; those are taken next time.

-- name: lock_expired_notes
-- Locks active notes that are past their time at $1.
SELECT n.*
FROM memory_notes AS n
WHERE n.status = 'active' AND n.expires_at <= $1
ORDER BY n.expires_at
LIMIT $2
FOR UPDATE OF n SKIP LOCKED;

-- name: lock_long_deleted_notes
-- Locks notes that were deleted before $1; nothing changes a deleted note, so updated_at is the moment of its deletion.
-- Nothing of their references will be left.
SELECT
  n.note_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.text, n.importance, n.confidence, n.status,
  n.created_at, n.updated_at, n.expires_at, n.requested_ttl_days, n.embedding_version, '{}'::jsonb AS source_ref
FROM memory_notes AS n
WHERE n.status = 'deleted' AND n.updated_at < $1
ORDER BY n.updated_at
LIMIT $2
FOR UPDATE OF n SKIP LOCKED;

-- name: lock_long_deprecated_notes
-- Locks deprecated notes that were last hit before $1, or never and were last changed before. Nothing of their references
-- will be left.
SELECT
  n.note_id, n.tenant_id, n.project_id, n.agent_id, n.scope, n.type, n.key, n.text, n.importance, n.confidence, n.status,
  n.created_at, n.updated_at, n.expires_at, n.requested_ttl_days, n.embedding_version, '{}'::jsonb AS source_ref
FROM memory_notes AS n
WHERE n.status = 'deprecated' AND coalesce(n.last_hit_at, n.updated_at) < $1
LIMIT $2
FOR UPDATE OF n SKIP LOCKED;

-- name: purge_notes
-- Removes locked notes with all that hangs on them: chunks, vectors and pooled vectors (by cascade), hits, traced
-- results and decisions. Their versions stay without a word of the writer ($5 blanks those fields) and end with PURGE.
-- The index is told by a DELETE job, which outlives the row. Runs after the locks, so it sees what their last holders
-- wrote.
WITH notes AS (
  DELETE FROM memory_notes WHERE note_id = ANY ($1::uuid[])
), hits AS (
  DELETE FROM memory_hits WHERE note_id = ANY ($1::uuid[])
), traced AS (
  DELETE FROM search_trace_items WHERE note_id = ANY ($1::uuid[])
), decisions AS (
  DELETE FROM memory_ingest_decisions WHERE note_id = ANY ($1::uuid[])
), matches AS (
  UPDATE memory_ingest_decisions SET matched_note_id = NULL
  WHERE matched_note_id = ANY ($1::uuid[]) AND matched_note_id <> note_id AND NOT note_id = ANY ($1::uuid[])
), blanked AS (
  UPDATE memory_note_versions
  SET prev_snapshot = prev_snapshot || $5::jsonb, new_snapshot = new_snapshot || $5::jsonb
  WHERE note_id = ANY ($1::uuid[])
), versions AS (
  INSERT INTO memory_note_versions (version_id, note_id, op, prev_snapshot, new_snapshot, reason, actor, ts)
  SELECT gen_random_uuid(), t.note_id, 'PURGE', t.snapshot || $5::jsonb, NULL, $6, $7, t.ts
  FROM unnest($1::uuid[], $2::timestamptz[], $3::jsonb[]) AS t (note_id, ts, snapshot)
), ended AS (
  DELETE FROM indexing_outbox WHERE note_id = ANY ($1::uuid[]) AND status IN ('GIVEN_UP', 'DISCARDED')
)
INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
SELECT gen_random_uuid(), t.note_id, 'DELETE', t.embedding_version, 'PENDING'
FROM unnest($1::uuid[], $4::text[]) AS t (note_id, embedding_version);

-- name: drop_old_decisions
-- Removes decisions that no note keeps, made before $1.
DELETE FROM memory_ingest_decisions WHERE decision_id = ANY (ARRAY(
  SELECT decision_id FROM memory_ingest_decisions
  WHERE note_id IS NULL AND ts < $1
  ORDER BY ts LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING decision_id;

-- name: drop_old_decisions_of_notes
-- Removes decisions that ended in a note, made before $1.
DELETE FROM memory_ingest_decisions WHERE decision_id = ANY (ARRAY(
  SELECT decision_id FROM memory_ingest_decisions
  WHERE note_id IS NOT NULL AND ts < $1
  ORDER BY ts LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING decision_id;

-- name: drop_old_hits
-- Removes hits counted before $1; the note keeps how many they were and when the last one was.
DELETE FROM memory_hits WHERE hit_id = ANY (ARRAY(
  SELECT hit_id FROM memory_hits WHERE ts < $1 ORDER BY ts LIMIT $2 FOR UPDATE SKIP LOCKED))
RETURNING hit_id;

-- name: drop_old_versions
-- Looks at a page of up to $4 versions, note by note behind ($2, $3), and removes those made before $1 that at least $5
-- newer ones of their note follow, and all made before of notes that are gone. Returns how many were looked at and
-- removed, and where the page ends. An index by age would be of use here only, and lead the reading of histories astray.
WITH page AS MATERIALIZED (
  SELECT v.note_id, v.ts, v.version_id
  FROM memory_note_versions AS v
  WHERE (v.note_id, v.ts) > ($2::uuid, $3::timestamptz)
  ORDER BY v.note_id, v.ts
  LIMIT $4
), old AS MATERIALIZED (
  SELECT p.version_id
  FROM page AS p
  LEFT JOIN LATERAL (SELECT true AS is_there FROM memory_notes AS m WHERE m.note_id = p.note_id OFFSET 0) AS n ON true
  LEFT JOIN LATERAL (
    SELECT true AS are_there FROM memory_note_versions AS w
    WHERE n.is_there AND w.note_id = p.note_id AND w.ts > p.ts
    ORDER BY w.ts OFFSET $5::int - 1 LIMIT 1) AS newer_ones ON true
  WHERE p.ts < $1 AND (n.is_there IS NULL OR newer_ones.are_there)
), dropped AS (
  DELETE FROM memory_note_versions WHERE version_id = ANY (ARRAY(SELECT o.version_id FROM old AS o))
  RETURNING version_id
)
SELECT (SELECT count(*) FROM page) AS looked_at, (SELECT count(*) FROM dropped) AS dropped, last.note_id, last.ts
FROM (SELECT 1) AS one
LEFT JOIN LATERAL (SELECT p.note_id, p.ts FROM page AS p ORDER BY p.note_id DESC, p.ts DESC LIMIT 1) AS last ON true;

-- name: count_notes_of
-- How many notes of a project, or of its agent $3, are not deleted; a null agent is every agent.
SELECT count(*)
FROM memory_notes AS n
WHERE n.tenant_id = $1 AND n.project_id = $2 AND ($3::text IS NULL OR n.agent_id = $3) AND n.status <> 'deleted';

-- name: lock_notes_of
-- Locks up to $4 of them, and waits for those that somebody else works on: none may be passed over.
SELECT n.*
FROM memory_notes AS n
WHERE n.tenant_id = $1 AND n.project_id = $2 AND ($3::text IS NULL OR n.agent_id = $3) AND n.status <> 'deleted'
LIMIT $4
FOR UPDATE OF n;
