-- What is taken along of one file, all of it read in one transaction, and taken in elsewhere.

-- name: memories_to_export
-- Reads all memories by id, or those of a user and of a JSON list of conversations, each with the words of a file that it was
-- made of. Of the conversations, those of other users are left out.
SELECT m.memory_id, m.orchestrator_id, m.type, m.importance, m.content, m.summary, m.confidence,
       s.source_type, s.captured_by, s.source_path, s.conversation_id, s.workflow_run_id, s.step_id,
       m.status, m.created_at, m.updated_at, m.version, m.user_id, m.shared, m.is_indexed, q.quote, q.start, q."end"
FROM memories m
LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
LEFT JOIN memory_quotes q USING (tenant_id, orchestrator_id, memory_id)
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id
  AND (
    :owner IS NULL
    OR m.user_id = :owner
    OR (
      coalesce(m.user_id, '') = '' AND s.conversation_id IN (SELECT value FROM json_each(:conversations))
    )
  )
ORDER BY m.memory_id;

-- name: versions_to_export
-- Reads all that a memory has been, oldest first, or that it has not been of another user than the one who is named.
SELECT version, operation, memory, reason, actor, created_at
FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id
  AND (:owner IS NULL OR coalesce(memory ->> '$.userId', :owner) = :owner)
ORDER BY version;

-- name: edges_to_export
-- Reads all edges by id, or those between memories of a user and of a JSON list of conversations.
SELECT edge_id, from_memory_id, to_memory_id, edge_type, weight, created_at, reason,
       resolution, resolution_reason, resolved_at
FROM memory_edges
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND (
    :owner IS NULL
    OR 2 = (
      SELECT count(*)
      FROM memories m
      LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
      WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id
        AND m.memory_id IN (memory_edges.from_memory_id, memory_edges.to_memory_id)
        AND (
          m.user_id = :owner
          OR (
            coalesce(m.user_id, '') = '' AND s.conversation_id IN (SELECT value FROM json_each(:conversations))
          )
        )
    )
  )
ORDER BY edge_id;

-- name: take_version_in
-- Adds what a memory has been, where it is missing: its memory was written as often, and this version is not there.
INSERT INTO memory_versions (
  tenant_id, orchestrator_id, memory_id, version, operation, memory, reason, actor, created_at
)
SELECT tenant_id, orchestrator_id, memory_id, :version, :operation, :memory, :reason, :actor, :created_at
FROM memories
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id AND version >= :version
ON CONFLICT (tenant_id, orchestrator_id, memory_id, version) DO NOTHING;
