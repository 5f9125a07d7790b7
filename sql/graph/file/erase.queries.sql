-- What is removed of one file for good.

-- name: memories_to_erase
-- Reads the ids of the memories that are to go, and their contents: those of a JSON list, of a user, of a JSON list of
-- conversations, of a file, or all. Of the conversations of a user, those of other users stay. A memory that was from one of
-- these once goes, too, if it still says what it said then.
SELECT m.memory_id, m.content
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
    OR (
      (:owner IS NULL OR coalesce(m.user_id, '') = '') AND EXISTS (
        SELECT 1
        FROM memory_versions v
        WHERE v.tenant_id = m.tenant_id AND v.orchestrator_id = m.orchestrator_id AND v.memory_id = m.memory_id
          AND m.content IN (v.memory ->> '$.content', v.memory ->> '$.summary')
          AND (
            v.memory ->> '$.source.sourcePath' = :source_path
            OR v.memory ->> '$.source.conversationId' IN (SELECT value FROM json_each(:conversations))
          )
      )
    )
  )
ORDER BY m.memory_id;

-- name: paths_of_memories
-- Reads the files that the memories of a JSON list are from, or were from.
SELECT source_path
FROM memory_sources
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND source_path IS NOT NULL
  AND memory_id IN (SELECT value FROM json_each(:memory_ids))
UNION
SELECT memory ->> '$.source.sourcePath'
FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory ->> '$.source.sourcePath' IS NOT NULL
  AND memory_id IN (SELECT value FROM json_each(:memory_ids));

-- name: ingests_of_memories
-- Reads the keys and the names of the files that the memories of a JSON list were taken out of, or of all files.
SELECT ingest_key, final_name
FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND (
    :everything
    OR EXISTS (
      SELECT 1 FROM json_each(memory_ids) made WHERE made.value IN (SELECT value FROM json_each(:memory_ids))
    )
  );

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

-- name: versions_to_erase
-- Reads what memories have been while they were a user's, or said what they said when they were from a file or
-- conversations; by now they are something else, and stay.
SELECT memory_id, version, memory ->> '$.content'
FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND (
    memory ->> '$.userId' = :owner
    OR memory ->> '$.source.sourcePath' = :source_path
    OR (
      (:owner IS NULL OR memory ->> '$.userId' IS NULL) AND EXISTS (
        SELECT 1
        FROM memory_versions v
        WHERE v.tenant_id = memory_versions.tenant_id AND v.orchestrator_id = memory_versions.orchestrator_id
          AND v.memory_id = memory_versions.memory_id
          AND v.memory ->> '$.content' = memory_versions.memory ->> '$.content'
          AND (
            v.memory ->> '$.source.sourcePath' = :source_path
            OR (
              v.memory ->> '$.source.conversationId' IN (SELECT value FROM json_each(:conversations))
              AND (:owner IS NULL OR v.memory ->> '$.userId' IS NULL)
            )
          )
      )
    )
  )
  AND NOT EXISTS (
    SELECT 1
    FROM memories m
    WHERE m.tenant_id = memory_versions.tenant_id AND m.orchestrator_id = memory_versions.orchestrator_id
      AND m.memory_id = memory_versions.memory_id AND m.version = memory_versions.version
  )
  AND memory_id NOT IN (SELECT value FROM json_each(:memory_ids));

-- name: erase_versions
-- Removes what memories have been: a JSON list has the id and the version of each.
DELETE FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND (memory_id, version) IN (SELECT value ->> 0, value ->> 1 FROM json_each(:versions));

-- name: erase_quotes
-- Removes the words of files that the memories of a JSON list were made of.
DELETE FROM memory_quotes
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND memory_id IN (SELECT value FROM json_each(:memory_ids));

-- name: erase_ingests
-- Forgets the files of which a memory goes, or all, that are where they end. Those may come again.
DELETE FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND finished_at IS NOT NULL
  AND (
    :everything
    OR EXISTS (
      SELECT 1 FROM json_each(memory_ids) made WHERE made.value IN (SELECT value FROM json_each(:memory_ids))
    )
  );

-- name: erase_unfinished_ingests
-- Has the files removed of which a memory goes, or all, that are on their way to where they end.
UPDATE memory_ingests SET is_erased = 1
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND finished_at IS NULL
  AND (
    :everything
    OR EXISTS (
      SELECT 1 FROM json_each(memory_ids) made WHERE made.value IN (SELECT value FROM json_each(:memory_ids))
    )
  );

-- name: erase_writebacks
-- Forgets which of the memories of a JSON list, or that any, were written back: they may come again.
UPDATE memory_audit
SET detail = json_set(
  detail, '$.memory_ids', (
    SELECT json_group_array(one.value)
    FROM json_each(memory_audit.detail, '$.memory_ids') one
    WHERE NOT :everything AND one.value NOT IN (SELECT value FROM json_each(:memory_ids))
  )
)
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND event = 'memory.writeback'
  AND EXISTS (
    SELECT 1
    FROM json_each(memory_audit.detail, '$.memory_ids') one
    WHERE :everything OR one.value IN (SELECT value FROM json_each(:memory_ids))
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
