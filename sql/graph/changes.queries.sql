-- The changes that memories keep, told to who wants to hear of them.

-- name: lock_changes
-- Lets one after the other tell what became of a memory, or erase that.
SELECT pg_advisory_xact_lock(hashtextextended('graph_changes ' || $1 || chr(31) || $2, 0));

-- name: last_change_told
-- Reads which change of a memory was told last.
SELECT t.last_id FROM graph_changes_told t WHERE t.tenant_id = $1 AND t.orchestrator_id = $2;

-- name: tell_changes
-- Tells what became of memories, in the order in which they come.
SELECT tell_change(
  c.event, 'graph', $2, c.memory_id, $1, agent => $2,
  more => CASE WHEN c.by_id IS NULL THEN '{}' ELSE jsonb_build_object('by', c.by_id) END)
FROM (
  SELECT * FROM unnest($3::text[], $4::text[], $5::text[]) WITH ORDINALITY AS t (event, memory_id, by_id, place)
  ORDER BY t.place
) AS c;

-- name: note_last_change_told
-- Notes which change of a memory was told last.
INSERT INTO graph_changes_told AS t (tenant_id, orchestrator_id, last_id) VALUES ($1, $2, $3)
ON CONFLICT (tenant_id, orchestrator_id) DO UPDATE SET last_id = excluded.last_id;

-- name: forget_last_change_told
-- Forgets which change of a memory was told last.
DELETE FROM graph_changes_told t WHERE t.tenant_id = $1 AND t.orchestrator_id = $2;

-- name: erase_told_changes
-- Removes what is still to be delivered of some memories of an orchestrator, or names one of them.
DELETE FROM webhook_outbox o
WHERE o.tenant_id = $1 AND o.agent_id = $2 AND o.family = 'graph'
  AND (o.item_id = ANY ($3::text[]) OR o.extra ->> 'by' = ANY ($3));
