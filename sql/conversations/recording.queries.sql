-- Recordings: who makes one, who replays it in another process, and what is left of those that are over. A recording
-- is broken, and counts as none, when its process has not been heard of for an interval that each query is given.

-- name: begin_recording
-- Adds a recording of a conversation; all others of it are to end. Returns these.
WITH begun AS (
  INSERT INTO conversation_recordings (tenant_id, conversation_id, recording_id, process_id) VALUES ($1, $2, $3, $4)
)
UPDATE conversation_recordings AS r SET is_cancelled = true
WHERE r.tenant_id = $1 AND r.conversation_id = $2 AND r.ending IS NULL
RETURNING r.recording_id;

-- name: renew_recording
-- Adds a recording that Postgres has lost, unless its conversation has another one by now, or is deleted or erased.
WITH tree AS MATERIALIZED (
  SELECT t.tree_id FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
  WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND t.deleted_at IS NULL FOR KEY SHARE OF t
)
INSERT INTO conversation_recordings (tenant_id, conversation_id, recording_id, process_id)
SELECT $1, $2, $3, $4 FROM tree WHERE NOT EXISTS (
  SELECT FROM conversation_recordings AS r
  WHERE r.tenant_id = $1 AND r.conversation_id = $2 AND r.recording_id <> $3 AND r.ending IS NULL
    AND r.heartbeat_at > now() - $5::interval)
ON CONFLICT (tenant_id, recording_id) DO UPDATE SET heartbeat_at = now()
RETURNING recording_id;

-- name: beat_recordings
-- Says that recordings go on. Returns those that are there, and which are to end: by a call, or with their conversation.
UPDATE conversation_recordings AS r SET heartbeat_at = now()
FROM unnest($1::text[], $2::uuid[]) AS mine (tenant_id, recording_id)
WHERE r.tenant_id = mine.tenant_id AND r.recording_id = mine.recording_id
RETURNING r.recording_id, r.is_cancelled OR NOT EXISTS (
  SELECT FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
  WHERE c.tenant_id = r.tenant_id AND c.conversation_id = r.conversation_id AND t.deleted_at IS NULL) AS is_to_end;

-- name: store_chunks
-- Appends to recordings, at most one chunk to each; what is there already stays. Returns those that are there, and
-- whether somebody follows them. None of them vanishes meanwhile.
WITH chunk AS MATERIALIZED (
  SELECT * FROM unnest($1::text[], $2::uuid[], $3::bigint[], $4::bytea[]) AS p (tenant_id, recording_id, start, content)
), held AS MATERIALIZED (
  SELECT r.tenant_id, r.recording_id, cardinality(r.followers) > 0 AS is_followed
  FROM conversation_recordings AS r JOIN chunk AS p ON p.tenant_id = r.tenant_id AND p.recording_id = r.recording_id
  ORDER BY r.recording_id FOR KEY SHARE OF r
), stored AS (
  INSERT INTO conversation_recording_chunks (tenant_id, recording_id, start, content)
  SELECT p.tenant_id, p.recording_id, p.start, p.content
  FROM chunk AS p JOIN held AS h ON h.tenant_id = p.tenant_id AND h.recording_id = p.recording_id
  ON CONFLICT DO NOTHING
)
SELECT h.recording_id, h.is_followed FROM held AS h;

-- name: end_recording
-- Tells how a recording ended; all of it is stored. Returns whether it is there.
UPDATE conversation_recordings AS r SET ending = $3, bytes = $4, ended_at = now()
WHERE r.tenant_id = $1 AND r.recording_id = $2
RETURNING true;

-- name: drop_recording
-- Removes a recording that is over, unless somebody follows it.
WITH gone AS (
  DELETE FROM conversation_recordings AS r
  WHERE r.tenant_id = $1 AND r.recording_id = $2 AND r.ending IS NOT NULL AND r.followers = '{}'
  RETURNING r.recording_id
)
DELETE FROM conversation_recording_chunks AS p USING gone AS g
WHERE p.tenant_id = $1 AND p.recording_id = g.recording_id;

-- name: follow_recording
-- The recording of a conversation that goes on, the last begun of several; a process ($3) that is not its own follows it.
UPDATE conversation_recordings AS r
SET followers = CASE WHEN r.process_id = $3 OR $3 = ANY (r.followers) THEN r.followers ELSE r.followers || $3::uuid END
WHERE r.tenant_id = $1 AND r.ending IS NULL AND r.recording_id = (
  SELECT o.recording_id FROM conversation_recordings AS o
  WHERE o.tenant_id = $1 AND o.conversation_id = $2 AND o.ending IS NULL AND o.heartbeat_at > now() - $4::interval
  ORDER BY o.started_at DESC LIMIT 1)
RETURNING r.recording_id, r.process_id;

-- name: follow_again
-- A process ($3) follows a recording that Postgres has lost, and that is there again.
UPDATE conversation_recordings AS r SET followers = r.followers || $3::uuid
WHERE r.tenant_id = $1 AND r.recording_id = $2 AND NOT $3 = ANY (r.followers);

-- name: read_followed
-- What there is of recordings from a byte on, $4 chunks of each at most, and how they are. `start` is where that begins:
-- at this byte, or in the chunk that has it.
SELECT r.recording_id, r.ending, r.bytes, r.heartbeat_at > now() - $6::interval AS is_alive,
  $5 = ANY (r.followers) AS is_followed, p.start, p.content
FROM unnest($1::text[], $2::uuid[], $3::bigint[]) AS f (tenant_id, recording_id, start)
JOIN conversation_recordings AS r ON r.tenant_id = f.tenant_id AND r.recording_id = f.recording_id
CROSS JOIN LATERAL (
  SELECT min(c.start) AS start, string_agg(c.content, '' ORDER BY c.start) AS content
  FROM (
    SELECT c.start, c.content FROM conversation_recording_chunks AS c
    WHERE c.tenant_id = f.tenant_id AND c.recording_id = f.recording_id AND c.start >= (
        SELECT max(b.start) FROM conversation_recording_chunks AS b
        WHERE b.tenant_id = f.tenant_id AND b.recording_id = f.recording_id AND b.start <= f.start)
      AND c.start + octet_length(c.content) > f.start
    ORDER BY c.start LIMIT $4
  ) AS c
) AS p;

-- name: unfollow_recording
-- A process ($3) follows a recording no longer.
UPDATE conversation_recordings AS r SET followers = array_remove(r.followers, $3::uuid)
WHERE r.tenant_id = $1 AND r.recording_id = $2;

-- name: cancel_recordings
-- Asks the recordings of a conversation that go on to end. Returns them.
UPDATE conversation_recordings AS r SET is_cancelled = true
WHERE r.tenant_id = $1 AND r.conversation_id = $2 AND r.ending IS NULL AND r.heartbeat_at > now() - $3::interval
RETURNING r.recording_id;

-- name: any_recording
-- Whether one of some recordings goes on.
SELECT EXISTS (
  SELECT FROM conversation_recordings AS r
  WHERE r.tenant_id = $1 AND r.recording_id = ANY ($2::uuid[]) AND r.ending IS NULL
    AND r.heartbeat_at > now() - $3::interval);

-- name: check_recordings
-- Those of some conversations ($3) that are being recorded, and that a user ($2) may read.
SELECT DISTINCT r.conversation_id
FROM conversation_recordings AS r
JOIN conversations AS c ON c.tenant_id = r.tenant_id AND c.conversation_id = r.conversation_id
JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id AND t.deleted_at IS NULL
JOIN conversation_memberships AS m ON m.tenant_id = c.tenant_id AND m.tree_id = c.tree_id AND m.user_id = $2
WHERE r.tenant_id = $1 AND r.conversation_id = ANY ($3::uuid[]) AND r.ending IS NULL
  AND r.heartbeat_at > now() - $4::interval;

-- name: collect_recordings
-- Removes recordings that were over, or last heard of, before a moment: $2 of them at most. Returns how many.
WITH old AS MATERIALIZED (
  SELECT r.tenant_id, r.recording_id FROM conversation_recordings AS r
  WHERE coalesce(r.ended_at, r.heartbeat_at) < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM conversation_recordings AS r USING old AS o
  WHERE r.tenant_id = o.tenant_id AND r.recording_id = o.recording_id RETURNING r.tenant_id, r.recording_id
), chunks AS (
  DELETE FROM conversation_recording_chunks AS p USING gone AS g
  WHERE p.tenant_id = g.tenant_id AND p.recording_id = g.recording_id
)
SELECT count(*) FROM gone;
