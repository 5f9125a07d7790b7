-- How memories are written. <columns> are those of a memory m.

-- name: lock_categories
-- Waits for other writers of categories of a user, always in one order. What they wrote is seen by the next statement.
SELECT count(pg_advisory_xact_lock(hashtextextended(k.name, 0)))
FROM (SELECT t.name FROM unnest($1::text[]) AS t (name) ORDER BY t.name) AS k;

-- name: lock_memory
-- Reads a memory and keeps it.
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3 FOR UPDATE OF m;

-- name: find_equal_memory
-- The active memory of a category and a type that says the same, letter for letter.
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.category = $3 AND m.type = $4 AND m.state = 'active' AND m.text = $5
  AND m.steps_text IS NOT DISTINCT FROM $6::text
ORDER BY m.created_at, m.memory_id LIMIT 1;

-- name: newest_texts
-- What the $4 active memories of a user that changed last say, but for those of a type ($3).
SELECT m.text FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'active' AND m.type <> $3
ORDER BY m.updated_at DESC, m.memory_id LIMIT $4;

-- name: insert_memory
-- Adds a memory.
INSERT INTO assistant_memories (
  tenant_id, user_id, memory_id, agent_id, run_id, actor_id, thread_id, role, type, category, text, steps_text, tags,
  importance, pinned, state, source, evidence, unchecked, created_at, updated_at, last_accessed, hit_count, purge_at,
  imported_at
)
VALUES (
  $1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16, $17, $18, $19, $20, $21, $22, $23, $24,
  $25
);

-- name: update_memory
-- Writes what may change of a memory. How often it was read is counted elsewhere, and is not undone here.
UPDATE assistant_memories AS m
SET category = $4, text = $5, steps_text = $6, tags = $7, importance = $8, pinned = $9, state = $10, evidence = $11,
  unchecked = $12, updated_at = $13, last_accessed = greatest(m.last_accessed, $14), purge_at = $15
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: repeat_memory
-- Notes that a memory was said again: it counts as needed then.
UPDATE assistant_memories AS m SET last_accessed = greatest(m.last_accessed, $4)
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: put_vector
-- Gives a memory its vector, in the place of the one that it had. Nobody decides any more of jobs for it that were given up.
WITH ended AS (
  DELETE FROM assistant_outbox AS o
  WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.subject_id = $3 AND o.kind = 'vector'
    AND o.status IN ('GIVEN_UP', 'DISCARDED')
)
INSERT INTO assistant_vectors (tenant_id, user_id, memory_id, embedding_version, embedding)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id, memory_id)
DO UPDATE SET embedding_version = excluded.embedding_version, embedding = excluded.embedding;

-- name: drop_vector
-- Takes the vector of a memory that says something else now, and what was given up of what it said before.
WITH ended AS (
  DELETE FROM assistant_outbox AS o
  WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.subject_id = $3 AND o.kind = 'vector'
    AND o.status IN ('GIVEN_UP', 'DISCARDED')
)
DELETE FROM assistant_vectors AS v WHERE v.tenant_id = $1 AND v.user_id = $2 AND v.memory_id = $3;

-- name: purge_memory
-- Removes a memory, and with it its vector and relations, and jobs that were given up.
WITH ended AS (
  DELETE FROM assistant_outbox AS o
  WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.subject_id = $3 AND o.status IN ('GIVEN_UP', 'DISCARDED')
)
DELETE FROM assistant_memories AS m WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: blank_history
-- Blanks what the history says in a purged memory's words.
UPDATE assistant_history AS h
SET old_ref = CASE WHEN h.old_id = $3 THEN (h.old_ref::jsonb || $4::jsonb)::text ELSE h.old_ref END,
  new_ref = CASE WHEN h.new_id = $3 THEN (h.new_ref::jsonb || $4::jsonb)::text ELSE h.new_ref END
WHERE h.tenant_id = $1 AND h.user_id = $2 AND (h.old_id = $3 OR h.new_id = $3);

-- name: blank_changes
-- Blanks what threads are told in a purged memory's words.
UPDATE assistant_changes AS c SET meta = c.meta || '{"text": ""}'
WHERE c.tenant_id = $1 AND c.user_id = $2 AND c.memory_id = $3;

-- name: lock_merged_into
-- Reads and keeps the memories that were merged into one ($3), or into one that was, and are only there to be restored.
WITH RECURSIVE merged (memory_id) AS (
  SELECT h.old_id FROM assistant_history AS h
  WHERE h.tenant_id = $1 AND h.user_id = $2 AND h.new_id = $3 AND h.event = 'MERGE' AND h.old_id <> $3
  UNION
  SELECT h.old_id FROM merged AS o
  JOIN assistant_history AS h ON h.tenant_id = $1 AND h.user_id = $2 AND h.new_id = o.memory_id
  WHERE h.event = 'MERGE' AND h.old_id <> h.new_id AND h.old_id <> $3
)
SELECT <columns> FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.state = 'soft_deleted'
  AND m.memory_id IN (SELECT o.memory_id FROM merged AS o)
ORDER BY m.memory_id FOR UPDATE OF m;

-- name: forget_proposals
-- Removes what was proposed because of words ($3) of a purged memory, decided or not. The history names fields alone.
DELETE FROM assistant_proposals AS p
WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.thread_id IS NOT DISTINCT FROM $4 AND EXISTS (
  SELECT FROM jsonb_array_elements(p.evidence) AS e (said) WHERE e.said ->> 'quote' = ANY ($3::text[]));

-- name: forget_signals
-- Removes what turns ($4) of a thread ($3) said of fields in words of a purged memory ($5).
DELETE FROM assistant_signals AS s
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.thread_id = $3 AND s.turn_id = ANY ($4::text[])
  AND position(lower(s.value) IN lower($5)) > 0;

-- name: link_neighbours
-- Links a memory ($3), whose vector is $4 by the model $5, to up to $7 of the nearest active ones whose cosine is at least
-- $6; what is done step by step ($8) to its like only. The greater strength of a pair stays. Tells which links are new.
-- Few are near enough: only these are looked up, the nearest first.
WITH close AS MATERIALIZED (
  SELECT v.memory_id, v.embedding <=> $4::vector AS distance
  FROM assistant_vectors AS v
  WHERE v.tenant_id = $1 AND v.user_id = $2 AND v.memory_id <> $3 AND v.embedding_version = $5
    AND v.embedding <=> $4::vector <= 1 - $6::float8
  ORDER BY distance, v.memory_id
), near AS (
  SELECT c.memory_id, 1 - c.distance AS cosine
  FROM close AS c
  CROSS JOIN LATERAL (
    SELECT FROM assistant_memories AS m
    WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = c.memory_id AND m.state = 'active'
      AND (m.type = 'procedural') = $8::boolean
    OFFSET 0
  ) AS m
  ORDER BY c.distance, c.memory_id LIMIT $7
)
INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, relation_type, strength, created_at)
SELECT $1, $2, $3, n.memory_id, 'related_to', n.cosine, $9 FROM near AS n
ON CONFLICT (tenant_id, user_id, least(from_id, to_id), greatest(from_id, to_id), relation_type)
DO UPDATE SET strength = greatest(assistant_relations.strength, excluded.strength)
RETURNING from_id, to_id, strength, xmax = 0 AS is_new;

-- name: write_history
-- Keeps what became of memories, in the order given.
INSERT INTO assistant_history (
  tenant_id, user_id, memory_id, event, old_ref, new_ref, old_id, new_id, actor, meta, ts
)
SELECT $1, $2, t.memory_id, t.event, t.old_ref, t.new_ref, t.old_id, t.new_id, $9, t.meta, $10
FROM unnest($3::uuid[], $4::text[], $5::text[], $6::text[], $7::uuid[], $8::uuid[], $11::jsonb[])
  WITH ORDINALITY AS t (memory_id, event, old_ref, new_ref, old_id, new_id, meta, place)
ORDER BY t.place;

-- name: track_events
-- Keeps events to be counted.
INSERT INTO assistant_events (tenant_id, user_id, node, op, status, thread_id, memory_id, category, sim, reason, ts)
SELECT $1, $2, t.node, t.op, t.status, t.thread_id, t.memory_id, t.category, t.sim, t.reason, $3
FROM unnest($4::text[], $5::text[], $6::text[], $7::text[], $8::uuid[], $9::text[], $10::real[], $11::text[])
  AS t (node, op, status, thread_id, memory_id, category, sim, reason);

-- name: leave_jobs
-- Leaves work to be done after the transaction.
INSERT INTO assistant_outbox (tenant_id, user_id, kind, subject_id, payload)
SELECT $1, $2, t.kind, t.subject_id, t.payload
FROM unnest($3::text[], $4::uuid[], $5::jsonb[]) AS t (kind, subject_id, payload);

-- name: move_relations
-- Gives the relations of a memory ($3) to another one ($4). Of two of a pair and a type the greater strength stays.
WITH moved AS (
  DELETE FROM assistant_relations AS r
  WHERE r.tenant_id = $1 AND r.user_id = $2 AND (r.from_id = $3 OR r.to_id = $3)
  RETURNING r.relation_type, r.strength, r.created_at,
    CASE WHEN r.from_id = $3 THEN $4::uuid ELSE r.from_id END AS from_id,
    CASE WHEN r.to_id = $3 THEN $4::uuid ELSE r.to_id END AS to_id
)
INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, relation_type, strength, created_at)
SELECT $1, $2, v.from_id, v.to_id, v.relation_type, v.strength, v.created_at FROM moved AS v WHERE v.from_id <> v.to_id
ON CONFLICT (tenant_id, user_id, least(from_id, to_id), greatest(from_id, to_id), relation_type)
DO UPDATE SET strength = greatest(assistant_relations.strength, excluded.strength);

-- name: contradict
-- Says of two memories that they cannot both be so; tells whether that is new.
INSERT INTO assistant_relations (tenant_id, user_id, from_id, to_id, relation_type, strength, created_at)
VALUES ($1, $2, $3, $4, 'contradicts', $5, $6)
ON CONFLICT (tenant_id, user_id, least(from_id, to_id), greatest(from_id, to_id), relation_type)
DO UPDATE SET strength = greatest(assistant_relations.strength, excluded.strength)
RETURNING xmax = 0 AS is_new;

-- name: speak_in_thread
-- Counts a turn of a thread, which is seen with it.
INSERT INTO assistant_threads AS t (tenant_id, user_id, thread_id, turns, seen_at) VALUES ($1, $2, $3, 1, $4)
ON CONFLICT (tenant_id, user_id, thread_id)
DO UPDATE SET turns = t.turns + 1, seen_at = greatest(t.seen_at, excluded.seen_at);

-- name: add_source
-- Keeps that a memory ($3) was said in another thread ($4), too, unless it is that of the memory.
INSERT INTO assistant_memory_sources AS s (tenant_id, user_id, memory_id, thread_id, evidence, created_at)
SELECT $1, $2, m.memory_id, $4, $5, $6 FROM assistant_memories AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3 AND m.thread_id IS DISTINCT FROM $4
ON CONFLICT DO NOTHING RETURNING s.memory_id;

-- name: move_sources
-- Keeps the sources of a memory ($3) with the one ($4) that says the same from now on.
UPDATE assistant_memory_sources AS s SET memory_id = $4
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.memory_id = $3
  AND s.thread_id IS DISTINCT FROM (
    SELECT m.thread_id FROM assistant_memories AS m WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $4);

-- name: drop_source
-- Removes a thread ($4) in which a memory was said, too.
DELETE FROM assistant_memory_sources AS s
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.memory_id = $3 AND s.thread_id = $4 RETURNING s.memory_id;

-- name: move_to_thread
-- Says that a memory is from another thread.
UPDATE assistant_memories AS m SET thread_id = $4 WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.memory_id = $3;

-- name: take_source
-- Removes the oldest other source of a memory: its own from now on.
DELETE FROM assistant_memory_sources AS s
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.memory_id = $3 AND s.thread_id = (
  SELECT o.thread_id FROM assistant_memory_sources AS o
  WHERE o.tenant_id = $1 AND o.user_id = $2 AND o.memory_id = $3 ORDER BY o.created_at, o.thread_id LIMIT 1)
RETURNING s.thread_id, s.evidence;
