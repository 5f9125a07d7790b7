-- How turns are taken in. <columns> are those of a memory m.

-- name: get_turn
-- What came of a turn that was taken in.
SELECT t.request_digest, t.results FROM assistant_turns AS t
WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3 AND t.turn_id = $4;

-- name: begin_turn
-- Takes a turn in, unless it was before; whoever takes the same one in waits.
INSERT INTO assistant_turns (tenant_id, user_id, thread_id, turn_id, request_digest, results, created_at)
VALUES ($1, $2, $3, $4, $5, '[]', $6)
ON CONFLICT DO NOTHING
RETURNING turn_id;

-- name: end_turn
-- Keeps what came of a turn.
UPDATE assistant_turns AS t SET results = $5
WHERE t.tenant_id = $1 AND t.user_id = $2 AND t.thread_id = $3 AND t.turn_id = $4;

-- name: texts_of
-- What memories say and proposals propose, of those that are there.
SELECT m.memory_id AS id, m.text FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = ANY ($3::uuid[])
UNION ALL
SELECT p.proposal_id, p.value FROM assistant_proposals AS p
WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.proposal_id = ANY ($3::uuid[]);

-- name: near_memories
-- The $6 active memories of a category and a type whose vectors, of the model $5, are nearest to one ($7).
SELECT <columns>, 1 - (v.embedding <=> $7::vector) AS cosine
FROM assistant_memories AS m JOIN assistant_vectors AS v USING (tenant_id, user_id, memory_id)
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.category = $3 AND m.type = $4 AND m.state = 'active'
  AND v.embedding_version = $5
ORDER BY v.embedding <=> $7::vector, m.memory_id LIMIT $6;

-- name: spend
-- Takes one of what there is of a kind on a day, at most $5; nothing when none is left.
INSERT INTO assistant_budgets AS b (tenant_id, user_id, kind, day, used) VALUES ($1, $2, $3, $4, 1)
ON CONFLICT (tenant_id, user_id, kind, day) DO UPDATE SET used = b.used + 1 WHERE b.used < $5
RETURNING b.used;

-- name: drop_old_turns
-- Removes up to $2 turns that were taken in before $1: nobody repeats them any more.
DELETE FROM assistant_turns AS t WHERE (t.tenant_id, t.user_id, t.thread_id, t.turn_id) IN (
  SELECT o.tenant_id, o.user_id, o.thread_id, o.turn_id FROM assistant_turns AS o
  WHERE o.created_at < $1 ORDER BY o.created_at LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING turn_id;

-- name: drop_old_budgets
-- Removes up to $2 counts of days before $1.
DELETE FROM assistant_budgets AS b WHERE (b.tenant_id, b.user_id, b.kind, b.day) IN (
  SELECT o.tenant_id, o.user_id, o.kind, o.day FROM assistant_budgets AS o
  WHERE o.day < $1::date ORDER BY o.day LIMIT $2 FOR UPDATE SKIP LOCKED)
RETURNING day;
