-- Edges of one file. An edge is read in the order of the fields of its record, and then its resolution.
-- With a :viewer, only edges are there whose ends are both that user's or everybody's (`sees_edge`).

-- name: edge_by_id
-- Reads one edge.
SELECT edge_id, from_memory_id, to_memory_id, edge_type, weight, created_at, reason,
       resolution, resolution_reason, resolved_at
FROM memory_edges e
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND edge_id = :edge_id
  AND <sees_edge>;

-- name: edge_is_seen
-- Says of an id that is taken whether its edge is there for the viewer.
SELECT <sees_edge>
FROM memory_edges e
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.edge_id = :id;

-- name: edge_between
-- Reads the edge of a type from one memory to another.
SELECT edge_id, from_memory_id, to_memory_id, edge_type, weight, created_at, reason,
       resolution, resolution_reason, resolved_at
FROM memory_edges e
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND from_memory_id = :from_memory_id AND to_memory_id = :to_memory_id AND edge_type = :edge_type
  AND <sees_edge>;

-- name: insert_edge
-- Adds an edge.
INSERT INTO memory_edges (
  tenant_id, orchestrator_id, edge_id, from_memory_id, to_memory_id, edge_type, weight, reason, created_at
) VALUES (
  :tenant_id, :orchestrator_id, :edge_id, :from_memory_id, :to_memory_id, :edge_type, :weight, :reason, :created_at
);

-- name: update_edge
-- Changes the weight of an edge, and why it is there.
UPDATE memory_edges SET weight = :weight, reason = :reason
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND edge_id = :edge_id;

-- name: resolve_edge
-- Says how a contradiction was resolved.
UPDATE memory_edges
SET resolution = :resolution, resolution_reason = :resolution_reason, resolved_at = :resolved_at
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND edge_id = :edge_id;

-- name: edges_from_memory
-- Reads a page of the edges that lead out of a memory, by id.
SELECT edge_id, from_memory_id, to_memory_id, edge_type, weight, created_at, reason,
       resolution, resolution_reason, resolved_at
FROM memory_edges e
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND from_memory_id = :memory_id
  AND edge_id > :behind AND (:edge_types IS NULL OR edge_type IN (SELECT value FROM json_each(:edge_types)))
  AND <sees_edge>
ORDER BY edge_id
LIMIT :limit;

-- name: edges_to_memory
-- Reads a page of the edges that lead to a memory, by id.
SELECT edge_id, from_memory_id, to_memory_id, edge_type, weight, created_at, reason,
       resolution, resolution_reason, resolved_at
FROM memory_edges e
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND to_memory_id = :memory_id
  AND edge_id > :behind AND (:edge_types IS NULL OR edge_type IN (SELECT value FROM json_each(:edge_types)))
  AND <sees_edge>
ORDER BY edge_id
LIMIT :limit;

-- name: unresolved_contradictions
-- Reads a page of the contradictions that nobody has resolved and whose ends are both active, oldest first.
SELECT e.edge_id, e.from_memory_id, e.to_memory_id, e.edge_type, e.weight, e.created_at, e.reason,
       e.resolution, e.resolution_reason, e.resolved_at
FROM memory_edges e INDEXED BY contradictions
JOIN memories a
  ON a.tenant_id = e.tenant_id AND a.orchestrator_id = e.orchestrator_id AND a.memory_id = e.from_memory_id
JOIN memories b
  ON b.tenant_id = e.tenant_id AND b.orchestrator_id = e.orchestrator_id AND b.memory_id = e.to_memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id AND e.edge_type = 'Contradicts'
  AND e.resolution IS NULL AND a.status = 'active' AND b.status = 'active'
  AND (e.created_at > :after OR (e.created_at = :after AND e.edge_id > :behind))
  AND <sees_edge>
ORDER BY e.created_at, e.edge_id
LIMIT :limit;

-- name: delete_edge
-- Removes an edge.
DELETE FROM memory_edges
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND edge_id = :edge_id;

-- name: ended_contradictions
-- Reads the unresolved contradictions of a memory that are none any more, and whether a rule saw them: both say the same since
-- it was changed, or, of those that a rule saw, they are of two matters.
SELECT e.edge_id, e.reason IS :reason
FROM memory_edges e
JOIN memories a
  ON a.tenant_id = e.tenant_id AND a.orchestrator_id = e.orchestrator_id AND a.memory_id = e.from_memory_id
JOIN memories b
  ON b.tenant_id = e.tenant_id AND b.orchestrator_id = e.orchestrator_id AND b.memory_id = e.to_memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id
  AND (e.from_memory_id = :memory_id OR e.to_memory_id = :memory_id)
  AND e.edge_type = 'Contradicts' AND e.resolution IS NULL
  AND (
    (
      lower(a.content) = lower(b.content) AND EXISTS (
        SELECT 1
        FROM memories now
        JOIN memory_versions v
          ON v.tenant_id = now.tenant_id AND v.orchestrator_id = now.orchestrator_id AND v.memory_id = now.memory_id
            AND v.version = now.version - 1
        WHERE now.tenant_id = :tenant_id AND now.orchestrator_id = :orchestrator_id AND now.memory_id = :memory_id
          AND v.memory ->> '$.content' <> now.content
      )
    )
    OR (a.type, a.subject, a.attribute, a.value) = (b.type, b.subject, b.attribute, b.value)
    OR (e.reason IS :reason AND coalesce((a.type, a.subject, a.attribute) <> (b.type, b.subject, b.attribute), 1))
  );
