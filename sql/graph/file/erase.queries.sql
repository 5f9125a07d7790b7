-- What is removed of one file for good.

-- name: memories_to_erase
-- Reads the ids of the memories that are to go, and the files that they are from: those of a JSON list, of a user, of a
-- JSON list of conversations, of a file, or all. Of the conversations of a user, those of other users stay.
SELECT m.memory_id, s.source_path
FROM memories m
LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id
  AND (
    :everything
    OR m.memory_id IN (SELECT value FROM json_each(:memory_ids))
    OR m.user_id = :owner
    OR (
      s.conversation_id IN (SELECT value FROM json_each(:conversations))
      AND (:owner IS NULL OR coalesce(m.user_id, '') = '')
    )
    OR s.source_path = :source_path
  )
ORDER BY m.memory_id;

-- name: count_of_memories
-- Counts what belongs to the memories of a JSON list: edges, spans, vectors, versions and quotes.
WITH going AS (SELECT value AS memory_id FROM json_each(:memory_ids))
SELECT
  (SELECT count(*) FROM memory_edges e
   WHERE e.tenant_id = :tenant_id AND e.orchestrator_id = :orchestrator_id
     AND (e.from_memory_id IN (SELECT memory_id FROM going) OR e.to_memory_id IN (SELECT memory_id FROM going))),
  (SELECT count(*) FROM going g JOIN memory_spans p
     ON p.tenant_id = :tenant_id AND p.orchestrator_id = :orchestrator_id AND p.memory_id = g.memory_id),
  (SELECT count(*) FROM going g JOIN memory_embeddings v
     ON v.tenant_id = :tenant_id AND v.orchestrator_id = :orchestrator_id AND v.memory_id = g.memory_id
     AND v.vector IS NOT NULL),
  (SELECT count(*) FROM going g JOIN memory_versions w
     ON w.tenant_id = :tenant_id AND w.orchestrator_id = :orchestrator_id AND w.memory_id = g.memory_id),
  (SELECT count(*) FROM going g JOIN memory_quotes q
     ON q.tenant_id = :tenant_id AND q.orchestrator_id = :orchestrator_id AND q.memory_id = g.memory_id);

-- name: erase_memories
-- Removes the memories of a JSON list, and with them all that belongs to them.
DELETE FROM memories
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND memory_id IN (SELECT value FROM json_each(:memory_ids));

-- name: erase_versions
-- Removes what memories have been while they were a user's; by now they are somebody else's.
DELETE FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory ->> '$.userId' = :owner;

-- name: erase_ingests
-- Forgets the files that were taken in, are where they end, and of which no memory is left, or all.
DELETE FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND finished_at IS NOT NULL
  AND (
    :everything
    OR (
      EXISTS (
        SELECT 1 FROM json_each(memory_ids) gone WHERE gone.value IN (SELECT value FROM json_each(:memory_ids))
      )
      AND NOT EXISTS (
        SELECT 1
        FROM json_each(memory_ids) made
        JOIN memories m
          ON m.tenant_id = memory_ingests.tenant_id AND m.orchestrator_id = memory_ingests.orchestrator_id
          AND m.memory_id = made.value
      )
    )
  );

-- name: unsign_versions
-- Takes a name off what memories have been.
UPDATE memory_versions SET actor = NULL
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND actor = :actor;

-- name: unname_audit
-- Takes out of what was done all detail of what tells of a name.
UPDATE memory_audit SET detail = '{}'
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND EXISTS (SELECT 1 FROM json_tree(detail) part WHERE part.type = 'text' AND part.value = :name);

-- name: unsign_audit
-- Takes a name off what was done.
UPDATE memory_audit SET actor = NULL
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND actor = :actor;
