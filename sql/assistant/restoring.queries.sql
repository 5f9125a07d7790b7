-- What another service told of its users, kept as it was there. Each statement takes a tenant ($1) and a JSON list of rows
-- ($2), and returns those that are new; what is there stays as it is.

-- name: restore_memories
-- Keeps memories. Returns whose they are, and their ids.
INSERT INTO assistant_memories (
  tenant_id, user_id, memory_id, agent_id, run_id, actor_id, thread_id, role, type, category, text, steps_text, tags,
  importance, pinned, state, source, evidence, created_at, updated_at, last_accessed, hit_count, purge_at, imported_at,
  unchecked
)
SELECT
  $1, t.user_id, t.id, t.agent_id, t.run_id, t.actor_id, t.thread_id, t.role, t.type, t.category, t.text, t.steps_text,
  t.tags, t.importance, t.pinned, t.state, t.source, t.evidence, t.created_at, t.updated_at, t.last_accessed, t.hit_count,
  t.purge_at, now(), t.state = 'active' AND t.type IN ('semantic', 'insight')
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, id uuid, agent_id text, run_id text, actor_id text, thread_id text, role text, type text, category text,
  text text, steps_text text, tags text[], importance smallint, pinned boolean, state text, source text, evidence jsonb,
  created_at timestamptz, updated_at timestamptz, last_accessed timestamptz, hit_count bigint, purge_at timestamptz
)
ON CONFLICT DO NOTHING
RETURNING user_id, memory_id;

-- name: restore_sources
-- Keeps in which other threads memories that are there were said.
INSERT INTO assistant_memory_sources (tenant_id, user_id, memory_id, thread_id, evidence, created_at)
SELECT $1, t.user_id, t.memory_id, t.thread_id, t.evidence, t.created_at
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, memory_id uuid, thread_id text, evidence jsonb, created_at timestamptz
)
JOIN assistant_memories AS m ON m.tenant_id = $1 AND m.user_id = t.user_id AND m.memory_id = t.memory_id
  AND m.thread_id IS DISTINCT FROM t.thread_id
ON CONFLICT DO NOTHING
RETURNING memory_id;

-- name: restore_relations
-- Keeps what memories that are there have to do with one another.
INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, relation_type, strength, created_at)
SELECT $1, t.user_id, t.from_id, t.to_id, t.relation_type, t.strength, t.created_at
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, from_id uuid, to_id uuid, relation_type text, strength real, created_at timestamptz
)
WHERE t.from_id <> t.to_id AND 2 = (
  SELECT count(*) FROM assistant_memories AS m
  WHERE m.tenant_id = $1 AND m.user_id = t.user_id AND m.memory_id IN (t.from_id, t.to_id))
ON CONFLICT DO NOTHING
RETURNING relation_id;

-- name: restore_history
-- Keeps what became of memories, in the order given.
INSERT INTO assistant_history (
  tenant_id, user_id, id, memory_id, event, old_ref, new_ref, old_id, new_id, actor, meta, ts
)
SELECT
  $1, t.user_id, t.id, t.memory_id, t.event, t.old_ref, t.new_ref, (t.old_ref::jsonb ->> 'id')::uuid,
  (t.new_ref::jsonb ->> 'id')::uuid, t.actor, t.meta, t.ts
FROM ROWS FROM (
  jsonb_to_recordset($2::jsonb) AS (
    user_id text, id uuid, memory_id uuid, event text, old_ref text, new_ref text, actor text, meta jsonb, ts timestamptz
  )
) WITH ORDINALITY AS t (user_id, id, memory_id, event, old_ref, new_ref, actor, meta, ts, place)
ORDER BY t.place
ON CONFLICT DO NOTHING
RETURNING id;

-- name: restore_user_contexts
-- Keeps what users are known by.
INSERT INTO assistant_user_context (tenant_id, user_id, field, value, updated_at)
SELECT $1, t.user_id, t.field, t.value, t.updated_at
FROM jsonb_to_recordset($2::jsonb) AS t (user_id text, field text, value jsonb, updated_at timestamptz)
ON CONFLICT DO NOTHING
RETURNING field;

-- name: restore_proposals
-- Keeps what was proposed to users, and what became of it.
INSERT INTO assistant_proposals (
  tenant_id, user_id, proposal_id, field, value, state, thread_id, evidence, created_at, expires_at, decided_at, decided_by
)
SELECT
  $1, t.user_id, t.proposal_id, t.field, t.value, t.state, t.thread_id, t.evidence, t.created_at, t.expires_at,
  t.decided_at, t.decided_by
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, proposal_id uuid, field text, value text, state text, thread_id text, evidence jsonb,
  created_at timestamptz, expires_at timestamptz, decided_at timestamptz, decided_by text
)
ON CONFLICT DO NOTHING
RETURNING proposal_id;

-- name: restore_threads
-- Keeps what somebody without a saver kept of threads.
INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_data, created_at, updated_at)
SELECT $1, t.user_id, t.thread_id, t.checkpoint_data, t.created_at, t.updated_at
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, thread_id text, checkpoint_data jsonb, created_at timestamptz, updated_at timestamptz
)
ON CONFLICT DO NOTHING
RETURNING id;
