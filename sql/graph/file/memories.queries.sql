-- Memories of one file, with their sources, spans, versions and the vectors that are to be made of them.
-- A memory is read in the order of the fields of its record, and then its version, and whose it is. With a :viewer, only
-- what is that user's, everybody's or shared is there (`sees_memory`); :unknown is the viewer as well, or the name that
-- stands for users whom nobody knows. What is written comes as a JSON list of rows, so that a request is one statement a
-- table, during which the interpreter is free for others.

-- name: memory_by_id
-- Reads one memory.
SELECT m.memory_id, m.orchestrator_id, m.type, m.importance, m.content, m.summary, m.confidence,
       s.source_type, s.captured_by, s.source_path, s.conversation_id, s.workflow_run_id, s.step_id,
       m.status, m.created_at, m.updated_at, m.version, m.user_id, m.shared
FROM memories m
LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.memory_id = :memory_id
  AND <sees_memory>;

-- name: memory_is_seen
-- Says of an id that is taken whether its memory is there for the viewer.
SELECT <sees_memory>
FROM memories m
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.memory_id = :id;

-- name: hidden_memories
-- Says which memories of a JSON list of ids are there, and not for the viewer.
SELECT m.memory_id
FROM json_each(:memory_ids) asked
CROSS JOIN memories m
  ON m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.memory_id = asked.value
WHERE NOT <sees_memory>;

-- name: memories_by_ids
-- Reads the memories of a JSON list of ids, those that there are.
SELECT m.memory_id, m.orchestrator_id, m.type, m.importance, m.content, m.summary, m.confidence,
       s.source_type, s.captured_by, s.source_path, s.conversation_id, s.workflow_run_id, s.step_id,
       m.status, m.created_at, m.updated_at, m.version, m.user_id, m.shared
FROM json_each(:memory_ids) AS asked
CROSS JOIN memories m
  ON m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.memory_id = asked.value
LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
WHERE <sees_memory>;

-- name: page_of_memories
-- Reads a page of memories, those changed last first, behind a moment and an id. A filter that is NULL takes all.
SELECT m.memory_id, m.orchestrator_id, m.type, m.importance, m.content, m.summary, m.confidence,
       s.source_type, s.captured_by, s.source_path, s.conversation_id, s.workflow_run_id, s.step_id,
       m.status, m.created_at, m.updated_at, m.version, m.user_id, m.shared
FROM memories m
LEFT JOIN memory_sources s USING (tenant_id, orchestrator_id, memory_id)
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id
  AND m.updated_at <= :before
  AND (m.updated_at < :before OR m.memory_id > :behind)
  AND (:types IS NULL OR m.type IN (SELECT value FROM json_each(:types)))
  AND (:statuses IS NULL OR m.status IN (SELECT value FROM json_each(:statuses)))
  AND (:source_types IS NULL OR s.source_type IN (SELECT value FROM json_each(:source_types)))
  AND (:conversation_id IS NULL OR s.conversation_id = :conversation_id)
  AND (:source_path IS NULL OR s.source_path = :source_path)
  AND (:min_importance IS NULL OR m.importance >= :min_importance)
  AND <sees_memory>
ORDER BY m.updated_at DESC, m.memory_id
LIMIT :limit;

-- name: insert_memories
-- Adds memories.
INSERT INTO memories (
  tenant_id, orchestrator_id, memory_id, type, importance, content, summary, confidence, status, subject, attribute,
  value, created_at, updated_at, version, is_indexed, user_id, shared
)
SELECT :tenant_id, :orchestrator_id, value ->> 'memory_id', value ->> 'type', value ->> 'importance',
       value ->> 'content', value ->> 'summary', value ->> 'confidence', value ->> 'status', value ->> 'subject',
       value ->> 'attribute', value ->> 'value', value ->> 'created_at', value ->> 'updated_at', value ->> 'version',
       value ->> 'is_indexed', value ->> 'user_id', value ->> 'shared'
FROM jsonb_each(:rows);

-- name: update_memory
-- Changes a memory; when it was created stays. One that says something else is found from now on.
UPDATE memories
SET type = :type, importance = :importance, content = :content, summary = :summary, confidence = :confidence,
    status = :status, subject = :subject, attribute = :attribute, value = :value, updated_at = :updated_at,
    version = :version, is_indexed = is_indexed OR content <> :content, user_id = :user_id,
    shared = :shared
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id;

-- name: change_status
-- Changes the status of a memory, and whether it is shared.
UPDATE memories
SET status = :status, updated_at = :updated_at, version = :version, shared = :shared
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id;

-- name: share_memory
-- Says whether a memory is shared.
UPDATE memories
SET shared = :shared, version = :version
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id;

-- name: unknown_conversations
-- Reads the conversations of which nobody knows whose they are.
SELECT DISTINCT s.conversation_id
FROM memories m INDEXED BY memories_of_unknown
CROSS JOIN memory_sources s
  ON s.tenant_id = m.tenant_id AND s.orchestrator_id = m.orchestrator_id AND s.memory_id = m.memory_id
WHERE m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.user_id = ''
  AND s.conversation_id IS NOT NULL;

-- name: own_versions
-- Says whose memories of a conversation have been, of which it was not known.
UPDATE memory_versions SET memory = json_set(memory, '$.userId', :owner)
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id
  AND memory ->> '$.source.conversationId' = :conversation_id AND memory ->> '$.userId' IS NULL
  AND memory_id IN (
    SELECT s.memory_id
    FROM memory_sources s
    CROSS JOIN memories m
      ON m.tenant_id = s.tenant_id AND m.orchestrator_id = s.orchestrator_id AND m.memory_id = s.memory_id
    WHERE s.tenant_id = :tenant_id AND s.orchestrator_id = :orchestrator_id AND s.conversation_id = :conversation_id
      AND m.user_id = ''
  );

-- name: own_memories
-- Says whose the memories of a conversation are, of which it was not known.
UPDATE memories SET user_id = :owner
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND user_id = ''
  AND memory_id IN (
    SELECT s.memory_id
    FROM memory_sources s
    WHERE s.tenant_id = :tenant_id AND s.orchestrator_id = :orchestrator_id AND s.conversation_id = :conversation_id
  );

-- name: put_sources
-- Says where memories are from.
INSERT INTO memory_sources (
  tenant_id, orchestrator_id, memory_id, source_type, captured_by, source_path, conversation_id, workflow_run_id, step_id
)
SELECT :tenant_id, :orchestrator_id, value ->> 'memory_id', value ->> 'source_type', value ->> 'captured_by',
       value ->> 'source_path', value ->> 'conversation_id', value ->> 'workflow_run_id', value ->> 'step_id'
FROM jsonb_each(:rows)
WHERE true -- else ON would belong to FROM
ON CONFLICT (tenant_id, orchestrator_id, memory_id) DO UPDATE
SET source_type = excluded.source_type, captured_by = excluded.captured_by, source_path = excluded.source_path,
    conversation_id = excluded.conversation_id, workflow_run_id = excluded.workflow_run_id, step_id = excluded.step_id;

-- name: delete_spans
-- Takes the spans of a memory away.
DELETE FROM memory_spans
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id;

-- name: insert_spans
-- Adds spans of memories.
INSERT INTO memory_spans (tenant_id, orchestrator_id, memory_id, ordinal, start, "end", text, words)
SELECT :tenant_id, :orchestrator_id, value ->> 'memory_id', value ->> 'ordinal', value ->> 'start', value ->> 'end',
       value ->> 'text', nullif(spaced_cjk(value ->> 'text'), value ->> 'text')
FROM jsonb_each(:rows);

-- name: insert_versions
-- Keeps what memories are after a change.
INSERT INTO memory_versions (
  tenant_id, orchestrator_id, memory_id, version, operation, memory, reason, actor, created_at
)
SELECT :tenant_id, :orchestrator_id, value ->> '$.memory.memoryId', value ->> 'version', value ->> 'operation',
       value -> 'memory', value ->> 'reason', :actor, :created_at
FROM jsonb_each(:rows);

-- name: versions_of_memory
-- Reads a page of what a memory has been, oldest first.
SELECT version, operation, memory, reason, actor, created_at
FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id AND version > :behind
ORDER BY version
LIMIT :limit;

-- name: contradicted_by_keys
-- Finds the active memories that say something else of the same attribute of the same subject as some memories do. Those of
-- two users are of two matters, and the same sentence says nothing else.
SELECT told.value ->> 'memory_id', m.memory_id
FROM jsonb_each(:rows) told
CROSS JOIN memories m
  ON m.tenant_id = :tenant_id AND m.orchestrator_id = :orchestrator_id AND m.type = told.value ->> 'type'
    AND m.subject = told.value ->> 'subject' AND m.attribute = told.value ->> 'attribute'
JOIN memories w
  ON w.tenant_id = :tenant_id AND w.orchestrator_id = :orchestrator_id AND w.memory_id = told.value ->> 'memory_id'
WHERE m.status = 'active' AND m.value <> told.value ->> 'value' AND m.memory_id <> told.value ->> 'memory_id'
  AND lower(m.content) <> lower(w.content)
  AND coalesce(m.user_id = told.value ->> 'user_id', true)
ORDER BY told.key, m.memory_id;

-- name: key_of_memory
-- Reads what a memory is about, where a rule knew it.
SELECT subject, attribute, value
FROM memories
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id
  AND subject IS NOT NULL AND attribute IS NOT NULL AND value IS NOT NULL;

-- name: content_at
-- Reads what a memory said at a moment.
SELECT memory ->> '$.content'
FROM memory_versions
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id AND created_at <= :at
ORDER BY version DESC
LIMIT 1;
