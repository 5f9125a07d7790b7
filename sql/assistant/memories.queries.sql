-- How memories are read. <columns> are those of a memory m.

-- name: get_memory
-- Reads a memory.
SELECT <columns> FROM assistant_memories AS m WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: category_of
-- The category of a memory, for whoever is about to change it.
SELECT m.category FROM assistant_memories AS m WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: list_memories
-- A page of memories in a state, newest first, behind a place ($3, $4); a filter that is null lets all through.
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND (m.updated_at, m.memory_id) < ($3, $4) AND m.state = $6
  AND ($7::text[] IS NULL OR m.category = ANY ($7)) AND ($8::text[] IS NULL OR m.type = ANY ($8))
  AND ($9::text IS NULL OR m.thread_id = $9 OR EXISTS (
    SELECT FROM assistant_memory_sources AS s
    WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.memory_id = m.memory_id AND s.thread_id = $9))
  AND ($10::text IS NULL OR m.agent_id = $10)
  AND ($11::text IS NULL OR m.run_id = $11) AND ($12::text IS NULL OR m.actor_id = $12)
  AND ($13::text IS NULL OR m.role = $13) AND ($14::boolean IS NULL OR m.pinned = $14)
  AND ($15::int IS NULL OR m.importance >= $15) AND ($16::int IS NULL OR m.importance <= $16)
  AND ($17::timestamptz IS NULL OR m.updated_at > $17) AND ($18::timestamptz IS NULL OR m.updated_at < $18)
  AND ($19::text IS NULL OR m.tags @> ARRAY[$19::text])
ORDER BY m.updated_at DESC, m.memory_id DESC LIMIT $5;

-- name: list_history
-- A page of what became of a memory ($7), newest first, behind a place ($3, $4), as far as it was in some categories ($6,
-- null for all); a row without a snapshot is of the category that the memory has now.
SELECT h.id, h.seq, h.memory_id, h.event, h.old_ref, h.new_ref, h.actor, h.meta, h.ts FROM assistant_history AS h
WHERE h.tenant_id = $1 AND h.user_id = $2 AND h.memory_id = $7 AND (h.ts, h.seq) < ($3, $4)
  AND ($6::text[] IS NULL OR coalesce(coalesce(h.new_ref, h.old_ref)::jsonb ->> 'category', (
    SELECT m.category FROM assistant_memories AS m
    WHERE m.tenant_id = h.tenant_id AND m.user_id = h.user_id AND m.memory_id = h.memory_id)) = ANY ($6))
  AND ($6::text[] IS NULL OR h.old_ref IS NULL OR h.old_ref::jsonb ->> 'category' = ANY ($6))
ORDER BY h.ts DESC, h.seq DESC LIMIT $5;

-- name: list_all_history
-- A page of what became of all memories of a user, newest first, behind a place ($3, $4), as far as they were in some
-- categories ($6, null for all); a row without a snapshot is of the category that the memory has now.
SELECT h.id, h.seq, h.memory_id, h.event, h.old_ref, h.new_ref, h.actor, h.meta, h.ts FROM assistant_history AS h
WHERE h.tenant_id = $1 AND h.user_id = $2 AND (h.ts, h.seq) < ($3, $4)
  AND ($6::text[] IS NULL OR coalesce(coalesce(h.new_ref, h.old_ref)::jsonb ->> 'category', (
    SELECT m.category FROM assistant_memories AS m
    WHERE m.tenant_id = h.tenant_id AND m.user_id = h.user_id AND m.memory_id = h.memory_id)) = ANY ($6))
  AND ($6::text[] IS NULL OR h.old_ref IS NULL OR h.old_ref::jsonb ->> 'category' = ANY ($6))
ORDER BY h.ts DESC, h.seq DESC LIMIT $5;
