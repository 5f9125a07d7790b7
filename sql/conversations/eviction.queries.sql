-- What was deleted long ago goes for good, in bounded steps. From its first step on a tree counts as deleted since ever:
-- it is first in line, and nobody sees it or brings it back.

-- name: count_evictable
-- How many trees of a tenant were deleted before a moment.
SELECT count(*) FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.deleted_at < $2;

-- name: take_evictable
-- The tree of a tenant that was deleted first of those deleted before a moment, unless somebody else has it.
SELECT t.tenant_id, t.tree_id FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.deleted_at < $2
ORDER BY t.deleted_at, t.tree_id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: take_evictable_of_all
-- The same of all tenants ($1 is null).
SELECT t.tenant_id, t.tree_id FROM conversation_trees AS t WHERE $1::text IS NULL AND t.deleted_at < $2
ORDER BY t.deleted_at, t.tenant_id, t.tree_id LIMIT 1 FOR UPDATE SKIP LOCKED;

-- name: begin_eviction
-- Hides a tree that goes in several steps.
UPDATE conversation_trees AS t SET deleted_at = '-infinity'
WHERE t.tenant_id = $1 AND t.tree_id = $2 AND t.deleted_at > '-infinity';

-- name: evict_entries
-- Removes up to $3 entries of a tree, with their texts. Returns them.
WITH page AS MATERIALIZED (
  SELECT e.conversation_id, e.seq FROM conversation_entries AS e WHERE e.tenant_id = $1 AND e.tree_id = $2 LIMIT $3
)
DELETE FROM conversation_entries AS e USING page AS s
WHERE e.tenant_id = $1 AND e.conversation_id = s.conversation_id AND e.seq = s.seq
RETURNING e.entry_id, e.is_indexed;

-- name: evict_conversations
-- Removes up to $3 conversations of a tree that has no entries any more.
WITH page AS MATERIALIZED (
  SELECT c.conversation_id FROM conversations AS c WHERE c.tenant_id = $1 AND c.tree_id = $2 LIMIT $3
), gone AS (
  DELETE FROM conversations AS c USING page AS s
  WHERE c.tenant_id = $1 AND c.conversation_id = s.conversation_id RETURNING 1
)
SELECT count(*) FROM gone;

-- name: evict_tree
-- Removes a tree that has no conversations any more.
DELETE FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $2;
