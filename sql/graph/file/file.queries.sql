-- The file itself: whose it is, and what was done in it.

-- name: owners
-- Reads whose file it is; there is one.
SELECT tenant_id, orchestrator_id FROM memory_meta;

-- name: own
-- Says whose file it is.
INSERT INTO memory_meta (tenant_id, orchestrator_id, created_at) VALUES (:tenant_id, :orchestrator_id, :created_at);

-- name: insert_audit
-- Writes down what was done or refused.
INSERT INTO memory_audit (tenant_id, orchestrator_id, event, actor, detail, created_at)
VALUES (:tenant_id, :orchestrator_id, :event, :actor, :detail, :created_at);

-- name: count_memories
-- Counts the memories of each type and status.
SELECT type, status, count(*)
FROM memories m
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND <sees_memory>
GROUP BY type, status
ORDER BY type, status;

-- name: count_edges
-- Counts the edges of each type.
SELECT edge_type, count(*)
FROM memory_edges e
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND <sees_edge>
GROUP BY edge_type
ORDER BY edge_type;

-- name: count_contradictions
-- Counts the contradictions that nobody has resolved and whose ends are both active.
SELECT count(*)
FROM memory_edges e
JOIN memories a
  ON a.tenant_id = e.tenant_id AND a.orchestrator_id = e.orchestrator_id AND a.memory_id = e.from_memory_id
JOIN memories b
  ON b.tenant_id = e.tenant_id AND b.orchestrator_id = e.orchestrator_id AND b.memory_id = e.to_memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.edge_type = 'Contradicts'
  AND e.resolution IS NULL AND a.status = 'active' AND b.status = 'active'
  AND <sees_edge>;
