-- How memories of a user are compared once a day. <columns> are those of a memory m.

-- name: users_to_consolidate
-- Users, of a tenant ($2) or all, who have a memory that was changed since $1 or that nobody compared, and the slot of
-- their last run, if that has ended.
SELECT u.tenant_id, u.user_id, r.slot
FROM (
  SELECT DISTINCT m.tenant_id, m.user_id FROM assistant_memories AS m
  WHERE ($2::text IS NULL OR m.tenant_id = $2) AND m.state = 'active' AND (m.updated_at > $1 OR m.unchecked)
) AS u
LEFT JOIN assistant_runs AS r ON r.tenant_id = u.tenant_id AND r.user_id = u.user_id AND r.kind = 'consolidation'
  AND r.ended_at IS NOT NULL
ORDER BY u.tenant_id, u.user_id;

-- name: claim_slot
-- Begins the work of a slot ($4) at $5, unless it was done, or begun after $6 by somebody who may be at it; nothing then.
INSERT INTO assistant_runs AS r (tenant_id, user_id, kind, slot, begun_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id, kind)
DO UPDATE SET slot = excluded.slot, begun_at = excluded.begun_at, ended_at = NULL
WHERE (r.slot < excluded.slot OR r.ended_at IS NULL) AND (r.ended_at IS NOT NULL OR r.begun_at <= $6)
RETURNING r.slot;

-- name: has_ended
-- Whether the last work of a kind that was begun for a user has ended.
SELECT r.ended_at IS NOT NULL FROM assistant_runs AS r WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.kind = $3;

-- name: end_run
-- Ends work of a kind.
UPDATE assistant_runs AS r SET ended_at = $4 WHERE r.tenant_id = $1 AND r.user_id = $2 AND r.kind = $3;

-- name: comparable_memories
-- The newest $6 active memories of some types ($3) that were changed since $4 or that nobody compared, with their vectors
-- of the model $5.
SELECT <columns>, v.embedding FROM assistant_memories AS m JOIN assistant_vectors AS v USING (tenant_id, user_id, memory_id)
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active' AND m.type = ANY ($3::text[])
  AND (m.updated_at > $4 OR m.unchecked) AND v.embedding_version = $5
ORDER BY m.updated_at DESC, m.memory_id DESC LIMIT $6;

-- name: compared_since
-- The pairs that were compared after $3.
SELECT f.fingerprint FROM assistant_fingerprints AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.checked_at > $3;

-- name: take_fingerprints
-- Takes pairs that are to be compared at $4, but those that were compared after $5; tells which were taken.
INSERT INTO assistant_fingerprints AS f (tenant_id, user_id, fingerprint, checked_at)
SELECT $1, $2, t.fingerprint, $4 FROM unnest($3::text[]) AS t (fingerprint) ORDER BY t.fingerprint
ON CONFLICT (tenant_id, user_id, fingerprint)
DO UPDATE SET checked_at = excluded.checked_at WHERE f.checked_at <= $5
RETURNING f.fingerprint;

-- name: give_back_fingerprints
-- Gives back pairs that nobody compared in the end.
DELETE FROM assistant_fingerprints AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.fingerprint = ANY ($3::text[]);

-- name: drop_old_fingerprints
-- Removes up to $2 pairs that were compared before $1.
DELETE FROM assistant_fingerprints AS f
USING (
  SELECT o.tenant_id, o.user_id, o.fingerprint FROM assistant_fingerprints AS o
  WHERE o.checked_at < $1 ORDER BY o.checked_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS old
WHERE f.tenant_id = old.tenant_id AND f.user_id = old.user_id AND f.fingerprint = old.fingerprint
RETURNING f.fingerprint;

-- name: used_of_budget
-- How much of a kind was used on a day.
SELECT b.used FROM assistant_budgets AS b
WHERE b.tenant_id = $1 AND b.user_id = $2 AND b.kind = $3 AND b.day = $4;

-- name: spend_many
-- Takes $5 of what there is of a kind on a day, at most $6; nothing when there is less.
INSERT INTO assistant_budgets AS b (tenant_id, user_id, kind, day, used)
SELECT $1, $2, $3, $4::date, $5::bigint WHERE $5::bigint <= $6::bigint
ON CONFLICT (tenant_id, user_id, kind, day) DO UPDATE SET used = b.used + excluded.used
WHERE b.used + excluded.used <= $6::bigint
RETURNING b.used;

-- name: note_compared
-- Notes of memories that they were compared with what is like them.
UPDATE assistant_memories AS m SET unchecked = false
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = ANY ($3::uuid[]) AND m.unchecked;
