-- What became of memories and is still to be told.

-- name: switch_feed
-- Has changes kept from now on, or no more; nothing is done where that is so already.
UPDATE change_feed SET is_on = :is_on WHERE is_on <> :is_on;

-- name: are_changes_kept
-- Tells whether there are changes to tell.
SELECT EXISTS (SELECT 1 FROM memory_changes);

-- name: kept_changes
-- Reads the first changes in their order.
SELECT change_no, change_id, event, memory_id, by_memory_id
FROM memory_changes
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
ORDER BY change_no
LIMIT :limit;

-- name: remove_changes
-- Removes the changes up to one.
DELETE FROM memory_changes
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND change_no <= :last_no;

-- name: drop_changes
-- Removes all changes.
DELETE FROM memory_changes WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id;

-- name: blank_changes
-- Leaves of the changes that name a memory of a JSON list nothing but their place: the last that was told may be one.
UPDATE memory_changes SET event = NULL, memory_id = NULL, by_memory_id = NULL
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND (
    memory_id IN (SELECT value FROM json_each(:memory_ids))
    OR by_memory_id IN (SELECT value FROM json_each(:memory_ids))
  );
