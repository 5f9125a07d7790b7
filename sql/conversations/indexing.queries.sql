-- The texts by which entries of histories are found.

-- name: lock_entries
-- Entries of live trees, locked in the order of their ids.
SELECT e.entry_id, e.conversation_id, e.channel FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.entry_id = ANY ($2::uuid[])
ORDER BY e.entry_id FOR NO KEY UPDATE OF e;

-- name: index_entries
-- Gives entries their texts.
UPDATE conversation_entries AS e SET indexed_content = g.text
FROM unnest($2::uuid[], $3::text[]) AS g (entry_id, text)
WHERE e.tenant_id = $1 AND e.entry_id = g.entry_id;

-- name: list_unindexed
-- Entries of the histories of live trees that have no text, behind a moment and an id.
SELECT e.* FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.channel = 'history' AND e.indexed_content IS NULL
  AND (e.created_at, e.entry_id) > ($2, $3)
ORDER BY e.created_at, e.entry_id LIMIT $4;
