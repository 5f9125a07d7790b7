-- How all that there is of a user, an agent or a tenant is erased and exported. <columns> are those of a memory m. A user
-- or an agent that is null stands for all of the tenant.

-- name: erase_chore_runs
-- Removes what tells of chores that are done for a user ($2) of a tenant, or for each of its users where that is null. The
-- subject of such a chore is JSON: the tenant and the user.
DELETE FROM chore_runs AS c
WHERE c.family = 'assistant' AND (CASE WHEN c.subject LIKE '["%' THEN c.subject::jsonb END) ->> 0 = $1
  AND ($2::text IS NULL OR (CASE WHEN c.subject LIKE '["%' THEN c.subject::jsonb END) ->> 1 = $2)
RETURNING 1;

-- name: erase_memories_of_agent
-- Removes up to $3 memories that an agent ($2) has kept, with all that tells of them alone; what else tells of them is
-- blanked by $4. Tells how many rows of each table went.
WITH doomed AS MATERIALIZED (
  SELECT m.user_id, m.memory_id FROM assistant_memories AS m WHERE m.tenant_id = $1 AND m.agent_id = $2
  ORDER BY m.user_id, m.memory_id LIMIT $3 FOR UPDATE OF m
), jobs AS (
  DELETE FROM assistant_outbox AS o USING doomed AS d
  WHERE o.tenant_id = $1 AND o.user_id = d.user_id AND o.subject_id = d.memory_id RETURNING 1
), vectors AS (
  DELETE FROM assistant_vectors AS v USING doomed AS d
  WHERE v.tenant_id = $1 AND v.user_id = d.user_id AND v.memory_id = d.memory_id RETURNING 1
), relations AS (
  DELETE FROM assistant_relations AS r USING doomed AS d
  WHERE r.tenant_id = $1 AND r.user_id = d.user_id AND d.memory_id IN (r.from_id, r.to_id) RETURNING 1
), changes AS (
  DELETE FROM assistant_changes AS c USING doomed AS d
  WHERE c.tenant_id = $1 AND c.user_id = d.user_id AND c.memory_id = d.memory_id RETURNING 1
), events AS (
  DELETE FROM assistant_events AS e USING doomed AS d
  WHERE e.tenant_id = $1 AND e.user_id = d.user_id AND e.memory_id = d.memory_id RETURNING 1
), history AS (
  DELETE FROM assistant_history AS h USING doomed AS d
  WHERE h.tenant_id = $1 AND h.user_id = d.user_id AND h.memory_id = d.memory_id RETURNING 1
), blanked AS (
  UPDATE assistant_history AS h
  SET old_ref = CASE WHEN h.old_id = d.memory_id THEN (h.old_ref::jsonb || $4::jsonb)::text ELSE h.old_ref END,
    new_ref = CASE WHEN h.new_id = d.memory_id THEN (h.new_ref::jsonb || $4::jsonb)::text ELSE h.new_ref END
  FROM doomed AS d
  WHERE h.tenant_id = $1 AND h.user_id = d.user_id AND h.memory_id <> d.memory_id AND d.memory_id IN (h.old_id, h.new_id)
), memories AS (
  DELETE FROM assistant_memories AS m USING doomed AS d
  WHERE m.tenant_id = $1 AND m.user_id = d.user_id AND m.memory_id = d.memory_id RETURNING 1
)
SELECT (SELECT count(*) FROM memories) AS memories, (SELECT count(*) FROM vectors) AS vectors,
  (SELECT count(*) FROM relations) AS relations, (SELECT count(*) FROM changes) AS changes,
  (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM history) AS history,
  (SELECT count(*) FROM jobs) AS outbox;

-- name: erase_recalls_of_agent
-- Removes the counts of what an agent ($2) looked up.
DELETE FROM assistant_recalls AS r WHERE r.tenant_id = $1 AND r.agent_id = $2 RETURNING 1;

-- name: leave_threads_of_agent
-- Has $3 checkpoints of threads that belong to an agent ($2) belong to none: they are their user's.
UPDATE saver_checkpoints AS c SET agent_id = NULL WHERE c.ctid = ANY (ARRAY(
  SELECT o.ctid FROM saver_checkpoints AS o WHERE o.tenant_id = $1 AND o.agent_id = $2 LIMIT $3))
RETURNING 1;

-- name: export_memories
-- A page of memories of a user ($2) or an agent ($3), behind a place ($4, $5).
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND ($2::text IS NULL OR m.user_id = $2) AND ($3::text IS NULL OR m.agent_id = $3)
  AND (m.user_id, m.memory_id) > ($4, $5)
ORDER BY m.user_id, m.memory_id LIMIT $6;

-- name: export_sources
-- A page of the threads in which memories of a user ($2) or an agent ($3) were said, too, behind a place ($4, $5, $6).
SELECT s.user_id, s.memory_id, s.thread_id, s.evidence, s.created_at FROM assistant_memory_sources AS s
WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.user_id = $2) AND (s.user_id, s.memory_id, s.thread_id) > ($4, $5, $6)
  AND ($3::text IS NULL OR EXISTS (
    SELECT FROM assistant_memories AS m WHERE m.tenant_id = s.tenant_id AND m.user_id = s.user_id
      AND m.memory_id = s.memory_id AND m.agent_id = $3))
ORDER BY s.user_id, s.memory_id, s.thread_id LIMIT $7;

-- name: export_relations
-- A page of what memories of a user ($2) have to do with one another, or of an agent ($3), behind a place ($4, $5).
SELECT r.user_id, r.relation_id, r.from_id, r.to_id, r.relation_type, r.strength, r.created_at
FROM assistant_relations AS r
WHERE r.tenant_id = $1 AND ($2::text IS NULL OR r.user_id = $2) AND (r.user_id, r.relation_id) > ($4, $5)
  AND ($3::text IS NULL OR 2 = (
    SELECT count(*) FROM assistant_memories AS m WHERE m.tenant_id = r.tenant_id AND m.user_id = r.user_id
      AND m.memory_id IN (r.from_id, r.to_id) AND m.agent_id = $3))
ORDER BY r.user_id, r.relation_id LIMIT $6;

-- name: export_history
-- A page of what became of memories of a user ($2), or of those that an agent ($3) keeps, behind a place ($4, $5).
SELECT h.user_id, h.id, h.seq, h.memory_id, h.event, h.old_ref, h.new_ref, h.actor, h.meta, h.ts
FROM assistant_history AS h
WHERE h.tenant_id = $1 AND ($2::text IS NULL OR h.user_id = $2) AND (h.user_id, h.seq) > ($4, $5)
  AND ($3::text IS NULL OR EXISTS (
    SELECT FROM assistant_memories AS m WHERE m.tenant_id = h.tenant_id AND m.user_id = h.user_id
      AND m.memory_id = h.memory_id AND m.agent_id = $3))
ORDER BY h.user_id, h.seq LIMIT $6;

-- name: export_user_contexts
-- What users, or one ($2), are known by.
SELECT c.user_id, c.field, c.value, c.updated_at FROM assistant_user_context AS c
WHERE c.tenant_id = $1 AND ($2::text IS NULL OR c.user_id = $2) ORDER BY c.user_id, c.field;

-- name: export_proposals
-- A page of what was proposed to a user ($2), behind a place ($3, $4).
SELECT p.user_id, p.proposal_id, p.field, p.value, p.state, p.thread_id, p.evidence, p.created_at, p.expires_at,
  p.decided_at, p.decided_by
FROM assistant_proposals AS p
WHERE p.tenant_id = $1 AND ($2::text IS NULL OR p.user_id = $2) AND (p.user_id, p.proposal_id) > ($3, $4)
ORDER BY p.user_id, p.proposal_id LIMIT $5;

-- name: export_thread_checkpoints
-- A page of what the newest checkpoints of threads of a user ($2) say, behind a place ($3, $4): $5 at most, and fewer of
-- large ones.
SELECT p.user_id, p.id, p.thread_id, p.checkpoint_data, p.created_at, p.updated_at, p.checkpoint_id IS NOT NULL AS by_saver
FROM (
  SELECT c.*, sum(length(c.checkpoint_data::text)) OVER place - length(c.checkpoint_data::text) AS chars_before
  FROM (
    SELECT s.*, sum(pg_column_size(s.checkpoint_data)) OVER place - pg_column_size(s.checkpoint_data) AS bytes_before
    FROM supervisor_checkpoints AS s
    WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.user_id = $2) AND (s.user_id, s.id) > ($3, $4)
    WINDOW place AS (ORDER BY s.user_id, s.id)
    ORDER BY s.user_id, s.id LIMIT $5
  ) AS c
  WHERE c.bytes_before < 4194304 WINDOW place AS (ORDER BY c.user_id, c.id)
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.user_id, p.id;

-- name: import_supervisor_checkpoint
-- Keeps what somebody without a saver kept of a thread elsewhere; tells whether it is new.
INSERT INTO supervisor_checkpoints (tenant_id, user_id, thread_id, checkpoint_data) VALUES ($1, $2, $3, $4)
ON CONFLICT DO NOTHING RETURNING true;
