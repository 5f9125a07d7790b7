-- What was deleted long ago goes for good, in bounded steps.

-- name: count_evictable
-- How many trees were deleted before a moment.
SELECT count(*) FROM conversation_trees AS t WHERE t.deleted_at < $1;

-- name: take_evictable
-- The tree that was deleted first of those deleted before a moment, unless somebody else has it.
SELECT t.tenant_id, t.tree_id FROM conversation_trees AS t WHERE t.deleted_at < $1
ORDER BY t.deleted_at, t.tenant_id, t.tree_id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: evict_entries
-- Removes up to $3 entries of a tree.
WITH page AS MATERIALIZED (
  SELECT e.conversation_id, e.seq FROM conversation_entries AS e WHERE e.tenant_id = $1 AND e.tree_id = $2 LIMIT $3
)
DELETE FROM conversation_entries AS e USING page AS s
WHERE e.tenant_id = $1 AND e.conversation_id = s.conversation_id AND e.seq = s.seq RETURNING 1;

-- name: evict_tree
-- Removes a tree that has no entries any more, with its conversations.
DELETE FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $2;
