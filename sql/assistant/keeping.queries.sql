-- How memories are kept in order, those of all users.

-- name: find_aged
-- Up to $2 active memories that nobody was given, repeated, edited or imported since $1 and that do not last, by place.
SELECT a.tenant_id, a.user_id, a.memory_id, a.category
FROM (
  SELECT m.tenant_id, m.user_id, m.memory_id, m.category FROM assistant_memories AS m
  WHERE m.state = 'active' AND NOT m.pinned AND m.importance < 3 AND greatest(m.last_accessed, m.created_at, m.updated_at, m.imported_at) < $1
  ORDER BY greatest(m.last_accessed, m.created_at, m.updated_at, m.imported_at) LIMIT $2
) AS a
ORDER BY a.tenant_id, a.user_id, a.memory_id;

-- name: find_due_to_go
-- Up to $2 memories that were deleted softly and can be restored until $1, by place.
SELECT d.tenant_id, d.user_id, d.memory_id, d.category
FROM (
  SELECT m.tenant_id, m.user_id, m.memory_id, m.category FROM assistant_memories AS m
  WHERE m.state = 'soft_deleted' AND m.purge_at <= $1
  ORDER BY m.purge_at LIMIT $2
) AS d
ORDER BY d.tenant_id, d.user_id, d.memory_id;

-- name: drop_old_events
-- Removes up to $2 events of before $1.
DELETE FROM assistant_events AS e
USING (
  SELECT o.tenant_id, o.user_id, o.id FROM assistant_events AS o WHERE o.ts < $1 ORDER BY o.ts LIMIT $2
) AS old
WHERE e.tenant_id = old.tenant_id AND e.user_id = old.user_id AND e.id = old.id
RETURNING e.id;
