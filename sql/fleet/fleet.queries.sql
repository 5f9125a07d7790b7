-- Who shares the memory; the table is among those of notes.

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
