-- What a recall reads of one file, all of it in one transaction. A filter that is NULL takes all.

-- name: spans_by_words
-- Finds the spans that match any of some words, best first, of memories that pass the filters. Whoever reads them stops
-- as soon as there are enough: nothing is looked up of those that come later.
SELECT s.memory_id, s.ordinal, s.text, f.rank
FROM memory_span_fts f
CROSS JOIN memory_spans s ON s.span_no = f.rowid
CROSS JOIN memories m
  ON m.tenant_id = s.tenant_id AND m.orchestrator_id = s.orchestrator_id AND m.memory_id = s.memory_id
WHERE f.memory_span_fts MATCH :words
  AND m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id
  AND m.status IN (SELECT value FROM json_each(:statuses))
  AND <sees_memory>
  AND (:types IS NULL OR m.type IN (SELECT value FROM json_each(:types)))
  AND (:min_importance IS NULL OR m.importance >= :min_importance)
  AND (:since IS NULL OR CASE m.version WHEN 1 THEN m.created_at ELSE m.updated_at END >= :since)
  AND (:until IS NULL OR CASE m.version WHEN 1 THEN m.created_at ELSE m.updated_at END < :until)
  AND (
    :shared IS NULL OR m.shared OR (:viewer IS NOT NULL AND m.user_id <> '') OR EXISTS (
      SELECT 1
      FROM memory_sources o
      WHERE o.tenant_id = m.tenant_id AND o.orchestrator_id = m.orchestrator_id AND o.memory_id = m.memory_id
        AND (
          o.conversation_id IS NOT NULL
          OR EXISTS (SELECT 1 FROM json_each(:shared) WHERE substr(o.source_path, 1, length(value)) = value)
        )
    )
  )
  AND (
    :conversation_ids IS NULL OR EXISTS (
      SELECT 1
      FROM memory_sources o
      WHERE o.tenant_id = m.tenant_id AND o.orchestrator_id = m.orchestrator_id AND o.memory_id = m.memory_id
        AND o.conversation_id IN (SELECT value FROM json_each(:conversation_ids))
    )
  )
ORDER BY f.rank;

-- name: memories_that_pass
-- Says which memories of a JSON list of ids pass the filters.
SELECT m.memory_id
FROM json_each(:memory_ids) asked
CROSS JOIN memories m
  ON m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.memory_id = asked.value
WHERE m.status IN (SELECT value FROM json_each(:statuses))
  AND <sees_memory>
  AND (:types IS NULL OR m.type IN (SELECT value FROM json_each(:types)))
  AND (:min_importance IS NULL OR m.importance >= :min_importance)
  AND (:since IS NULL OR CASE m.version WHEN 1 THEN m.created_at ELSE m.updated_at END >= :since)
  AND (:until IS NULL OR CASE m.version WHEN 1 THEN m.created_at ELSE m.updated_at END < :until)
  AND (
    :shared IS NULL OR m.shared OR (:viewer IS NOT NULL AND m.user_id <> '') OR EXISTS (
      SELECT 1
      FROM memory_sources o
      WHERE o.tenant_id = m.tenant_id AND o.orchestrator_id = m.orchestrator_id AND o.memory_id = m.memory_id
        AND (
          o.conversation_id IS NOT NULL
          OR EXISTS (SELECT 1 FROM json_each(:shared) WHERE substr(o.source_path, 1, length(value)) = value)
        )
    )
  )
  AND (
    :conversation_ids IS NULL OR EXISTS (
      SELECT 1
      FROM memory_sources o
      WHERE o.tenant_id = m.tenant_id AND o.orchestrator_id = m.orchestrator_id AND o.memory_id = m.memory_id
        AND o.conversation_id IN (SELECT value FROM json_each(:conversation_ids))
    )
  );

-- name: edges_touching
-- Reads the edges of the memories of a JSON list of ids, the weightiest first, but for those that lead to what is
-- retracted; behind each edge stand the paths of the files that its ends are from.
SELECT e.edge_id, e.from_memory_id, e.to_memory_id, e.edge_type, e.weight, e.created_at, e.reason,
       e.resolution, e.resolution_reason, e.resolved_at, s.source_path, t.source_path
FROM memory_edges e
JOIN memories a
  ON a.tenant_id = e.tenant_id AND a.orchestrator_id = e.orchestrator_id AND a.memory_id = e.from_memory_id
JOIN memories b
  ON b.tenant_id = e.tenant_id AND b.orchestrator_id = e.orchestrator_id AND b.memory_id = e.to_memory_id
LEFT JOIN memory_sources s
  ON s.tenant_id = e.tenant_id AND s.orchestrator_id = e.orchestrator_id AND s.memory_id = e.from_memory_id
LEFT JOIN memory_sources t
  ON t.tenant_id = e.tenant_id AND t.orchestrator_id = e.orchestrator_id AND t.memory_id = e.to_memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id
  AND (
    e.from_memory_id IN (SELECT value FROM json_each(:memory_ids))
    OR e.to_memory_id IN (SELECT value FROM json_each(:memory_ids))
  )
  AND a.status <> 'retracted' AND b.status <> 'retracted'
  AND <sees_edge>
ORDER BY e.weight DESC, e.edge_id;

-- name: contradictions_touching
-- Reads the contradictions of the memories of a JSON list of ids that nobody has resolved and whose ends are active, as
-- edges_touching does.
SELECT e.edge_id, e.from_memory_id, e.to_memory_id, e.edge_type, e.weight, e.created_at, e.reason,
       e.resolution, e.resolution_reason, e.resolved_at, s.source_path, t.source_path
FROM memory_edges e
JOIN memories a
  ON a.tenant_id = e.tenant_id AND a.orchestrator_id = e.orchestrator_id AND a.memory_id = e.from_memory_id
JOIN memories b
  ON b.tenant_id = e.tenant_id AND b.orchestrator_id = e.orchestrator_id AND b.memory_id = e.to_memory_id
LEFT JOIN memory_sources s
  ON s.tenant_id = e.tenant_id AND s.orchestrator_id = e.orchestrator_id AND s.memory_id = e.from_memory_id
LEFT JOIN memory_sources t
  ON t.tenant_id = e.tenant_id AND t.orchestrator_id = e.orchestrator_id AND t.memory_id = e.to_memory_id
WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id
  AND (
    e.from_memory_id IN (SELECT value FROM json_each(:memory_ids))
    OR e.to_memory_id IN (SELECT value FROM json_each(:memory_ids))
  )
  AND e.edge_type = 'Contradicts' AND e.resolution IS NULL AND a.status = 'active' AND b.status = 'active'
  AND <sees_edge>
ORDER BY e.weight DESC, e.edge_id;

-- name: first_of_type
-- Reads the ids of the active memories of a type that matter most, the newest of equals first.
SELECT memory_id
FROM memories m
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND type = :type AND status = 'active'
  AND <sees_memory>
ORDER BY importance DESC, updated_at DESC, memory_id;
