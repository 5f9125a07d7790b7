-- What is made of turns after their answers. <columns> are those of a memory m.

-- name: keep_recent
-- Keeps what was said in a turn ($4) of a thread, of which at most $8 messages stay.
WITH said AS (
  INSERT INTO assistant_recent (tenant_id, user_id, thread_id, turn_id, role, content, said_at)
  SELECT $1, $2, $3, $4, t.role, t.content, $7
  FROM unnest($5::text[], $6::text[]) WITH ORDINALITY AS t (role, content, place) ORDER BY t.place
)
DELETE FROM assistant_recent AS r
WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.thread_id = $3 AND r.seq <= (
  SELECT o.seq FROM assistant_recent AS o
  WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.thread_id = $3
  ORDER BY o.seq DESC OFFSET $8::int - cardinality($5::text[]) LIMIT 1
);

-- name: read_recent_of_user
-- The last $3 messages of all threads of a user that are kept, oldest first.
SELECT n.thread_id, n.role, n.content, n.turn_id FROM (
  SELECT r.thread_id, r.role, r.content, r.turn_id, r.said_at, r.seq FROM assistant_recent AS r
  WHERE r.tenant_id = $1 AND r.user_id = $2 ORDER BY r.said_at DESC, r.seq DESC LIMIT $3
) AS n
ORDER BY n.said_at, n.seq;

-- name: read_recent
-- The last words of a thread, oldest first.
SELECT r.turn_id, r.role, r.content FROM assistant_recent AS r
WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.thread_id = $3 ORDER BY r.seq;

-- name: forget_recent
-- Forgets last words that hold one of some quotes ($3), or are of one of some turns ($4).
DELETE FROM assistant_recent AS r
WHERE r.tenant_id = $1 AND r.user_id = $2
  AND (r.turn_id = ANY ($4::text[])
    OR EXISTS (SELECT FROM unnest($3::text[]) AS q (words) WHERE strpos(r.content, q.words) > 0));

-- name: drop_old_recent
-- Removes up to $2 messages that were said before $1.
DELETE FROM assistant_recent AS r
USING (
  SELECT o.tenant_id, o.user_id, o.thread_id, o.seq FROM assistant_recent AS o
  WHERE o.said_at < $1 ORDER BY o.said_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS old
WHERE r.tenant_id = old.tenant_id AND r.user_id = old.user_id AND r.thread_id = old.thread_id AND r.seq = old.seq
RETURNING r.seq;

-- name: due_after_turn
-- Whether after another turn of a thread insights are due, which are when none were looked for since $4, and an episode:
-- when none was since $5, and the thread has had $6 turns.
SELECT
  NOT EXISTS (
    SELECT FROM assistant_runs AS r
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.kind = 'insights' AND r.slot > $4
  ) AS insights,
  1 + coalesce((
    SELECT t.turns - t.episode_turn FROM assistant_threads AS t
    WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3
  ), 0) >= $6::bigint AND NOT EXISTS (
    SELECT FROM assistant_runs AS r
    WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.kind = 'episode' AND r.slot > $5
  ) AS episode;

-- name: take_run
-- Begins work of a kind for a user at $4, unless it was begun after $5; nothing then.
INSERT INTO assistant_runs AS r (tenant_id, user_id, kind, slot, begun_at) VALUES ($1, $2, $3, $4, $4)
ON CONFLICT (tenant_id, user_id, kind)
DO UPDATE SET slot = excluded.slot, begun_at = excluded.begun_at, ended_at = NULL WHERE r.slot <= $5
RETURNING r.slot;

-- name: end_episode
-- Notes that a thread is summed up to its last turn.
UPDATE assistant_threads AS t SET episode_turn = t.turns
WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3;

-- name: newest_of_type
-- The $4 active memories of a type that were written last.
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active' AND m.type = $3
ORDER BY m.updated_at DESC, m.memory_id DESC LIMIT $4;
