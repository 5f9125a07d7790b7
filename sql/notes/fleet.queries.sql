-- Who shares the notes, and which work waits for whom.

-- name: tell_process
-- Says that a process lives. Whoever was silent for $6 begins to watch the others anew: they may have been cut off, too.
INSERT INTO note_processes AS p (process_id, name, embedding_version, chunking, indexes)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (process_id) DO UPDATE SET
  watching_since = CASE WHEN p.seen_at < now() - $6::interval THEN now() ELSE p.watching_since END,
  seen_at = now(), has_left = false;

-- name: leave_processes
-- Says that a process ends. Its row stays for a moment, because it may only be starting again.
UPDATE note_processes SET has_left = true, seen_at = now() WHERE process_id = $1;

-- name: forget_processes
-- Removes processes that left $2 ago, and those that are silent for $3 while $1 watched them all the time.
DELETE FROM note_processes AS p
WHERE p.has_left AND p.seen_at < now() - $2::interval
  OR p.seen_at < now() - $3::interval AND EXISTS (
    SELECT 1 FROM note_processes AS me WHERE me.process_id = $1 AND me.watching_since < now() - $3::interval);

-- name: other_processes
-- All living processes but $1.
SELECT name, embedding_version, chunking, indexes FROM note_processes WHERE process_id <> $1 ORDER BY name;

-- name: versions_of_open_jobs
-- The embedding versions for which jobs wait: one look at the index for each.
WITH RECURSIVE versions (embedding_version) AS (
  SELECT min(o.embedding_version) FROM indexing_outbox AS o WHERE o.status IN ('PENDING', 'FAILED')
  UNION ALL
  SELECT (
    SELECT min(o.embedding_version) FROM indexing_outbox AS o
    WHERE o.status IN ('PENDING', 'FAILED') AND o.embedding_version > v.embedding_version)
  FROM versions AS v
  WHERE v.embedding_version IS NOT NULL
)
SELECT embedding_version FROM versions WHERE embedding_version IS NOT NULL;

-- name: count_waiting_jobs
-- How many jobs of a version have been due for $2 and wait still; no more than $3 are counted.
SELECT count(*)
FROM (
  SELECT 1 FROM indexing_outbox AS o
  WHERE o.embedding_version = $1 AND o.status IN ('PENDING', 'FAILED') AND o.available_at < now() - $2::interval
  LIMIT $3) AS waiting;

-- name: adopt_jobs
-- Gives open jobs of version $1, whose processes are gone, to those of version $2; returns them.
UPDATE indexing_outbox AS o
SET embedding_version = $2, available_at = now(), updated_at = now()
FROM (
  SELECT j.outbox_id FROM indexing_outbox AS j
  WHERE j.embedding_version = $1 AND j.status IN ('PENDING', 'FAILED')
  ORDER BY j.available_at
  LIMIT $3
  FOR UPDATE SKIP LOCKED) AS due
WHERE o.outbox_id = due.outbox_id
RETURNING o.outbox_id;

-- name: notes_page
-- A page of all notes in the order of their ids behind $1. is_due: live, and of a version that is not among $4, those of
-- other processes. is_whole: all of it can be found by version $3. chunking: how its chunks of that version were cut, if
-- that is known and the same for all.
WITH page AS MATERIALIZED (
  SELECT
    n.note_id, n.embedding_version, char_length(n.text) AS length,
    n.status = 'active' AND (n.expires_at IS NULL OR n.expires_at > $5) AND n.embedding_version <> ALL ($4::text[])
      AS is_due
  FROM memory_notes AS n
  WHERE n.note_id > $1
  ORDER BY n.note_id
  LIMIT $2
)
SELECT p.note_id, p.is_due, p.embedding_version = $3 AND coalesce(c.is_whole, false) AS is_whole, c.chunking
FROM page AS p
LEFT JOIN LATERAL (
  SELECT
    min(k.start_offset) = 0 AND max(k.end_offset) = p.length AND count(e.chunk_id) = max(k.chunk_index) + 1 AS is_whole,
    CASE WHEN count(k.chunking) = count(*) AND min(k.chunking) = max(k.chunking) THEN min(k.chunking) END AS chunking
  FROM memory_note_chunks AS k
  LEFT JOIN LATERAL (
    SELECT v.chunk_id FROM note_chunk_embeddings AS v
    WHERE v.chunk_id = k.chunk_id AND v.embedding_version = $3 OFFSET 0) AS e ON true
  WHERE k.note_id = p.note_id AND k.embedding_version = $3) AS c ON p.is_due
ORDER BY p.note_id;

-- name: enqueue_renewal
-- Asks for notes to be indexed again, and for their points that are no chunks any more to go, unless a job waits for
-- them anyway; returns the jobs. A leased job does not count: it may be one that a rebuild ends by itself.
INSERT INTO indexing_outbox (outbox_id, note_id, op, embedding_version, status)
SELECT gen_random_uuid(), t.note_id, 'DELETE', $2, 'PENDING'
FROM unnest($1::uuid[]) AS t (note_id)
WHERE NOT EXISTS (
  SELECT 1 FROM indexing_outbox AS o
  WHERE o.note_id = t.note_id
    AND (o.status = 'FAILED' OR o.status = 'PENDING' AND o.available_at <= now()) OFFSET 0)
RETURNING outbox_id;

-- name: cuts_of_notes
-- The texts of notes and where their chunks of version $2 begin and end.
SELECT n.note_id, n.updated_at, n.text, c.starts, c.ends
FROM memory_notes AS n
CROSS JOIN LATERAL (
  SELECT array_agg(k.start_offset ORDER BY k.chunk_index) AS starts,
    array_agg(k.end_offset ORDER BY k.chunk_index) AS ends
  FROM memory_note_chunks AS k
  WHERE k.note_id = n.note_id AND k.embedding_version = $2) AS c
WHERE n.note_id = ANY ($1::uuid[]) AND c.starts IS NOT NULL;

-- name: mark_chunking
-- Writes down that the chunks of notes are such as chunking $3 would make them, where the note is as it was read.
UPDATE memory_note_chunks AS c SET chunking = $3
FROM unnest($1::uuid[], $2::timestamptz[]) AS t (note_id, updated_at)
JOIN memory_notes AS n ON n.note_id = t.note_id AND n.updated_at = t.updated_at
WHERE c.note_id = t.note_id;
