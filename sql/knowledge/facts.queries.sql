-- How facts are written.

-- name: find_repeated_facts
-- The facts that were stored with these idempotency keys.
SELECT f.idempotency_key, f.user_id, f.request_digest, f.id, f.supersedes_id FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND f.idempotency_key = ANY ($2::text[]);

-- name: lock_fact_keys
-- Waits for other writers of these keys, always in one order. What they wrote is seen by the next statement.
SELECT count(pg_advisory_xact_lock(k.number))
FROM (SELECT t.number FROM unnest($1::bigint[]) AS t (number) ORDER BY t.number) AS k;

-- name: lock_active_of_subject
-- The active facts of subjects, locked.
SELECT f.id, f.subject AS about, f.scope, f.predicate, f.user_id FROM knowledge_facts AS f
JOIN unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS k (subject, scope, predicate, user_id)
  ON f.subject = k.subject AND f.scope = k.scope AND f.predicate = k.predicate
  AND coalesce(f.user_id, '') = coalesce(k.user_id, '')
WHERE f.tenant_id = $1 AND f.entity_id IS NULL AND f.validity = 'active'
ORDER BY f.id FOR UPDATE OF f;

-- name: lock_active_of_entity
-- The active facts of entities, locked.
SELECT f.id, f.entity_id::text AS about, f.scope, f.predicate, f.user_id FROM knowledge_facts AS f
JOIN unnest($2::text[], $3::text[], $4::text[], $5::text[]) AS k (entity_id, scope, predicate, user_id)
  ON f.entity_id = k.entity_id::uuid AND f.scope = k.scope AND f.predicate = k.predicate
  AND coalesce(f.user_id, '') = coalesce(k.user_id, '')
WHERE f.tenant_id = $1 AND f.validity = 'active'
ORDER BY f.id FOR UPDATE OF f;

-- name: supersede_facts
-- Ends the validity of facts that others take the place of.
UPDATE knowledge_facts AS f SET validity = 'superseded' WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]);

-- name: insert_facts
-- Adds facts, each a microsecond after the one before it, by which lists and prompts keep their order; their links to
-- those that they supersede, and jobs for the vectors that they lack ($4: the model is away).
WITH given AS MATERIALIZED (
  SELECT t.*, $2::timestamptz + (t.place - 1) * interval '1 microsecond' AS moment FROM unnest(
    $5::uuid[], $6::text[], $7::text[], $8::text[], $9::vector[], $10::text[], $11::float8[], $12::float8[],
    $13::text[], $14::text[], $15::uuid[], $16::uuid[], $17::uuid[], $18::text[], $19::text[], $20::text[],
    $21::jsonb[], $22::text[], $23::bytea[], $24::text[], $25::text[]
  ) WITH ORDINALITY AS t (
    id, subject, predicate, content, embedding, searched, importance, decay_rate, permanence, source_butler,
    source_episode_id, supersedes_id, entity_id, validity, scope, tags, metadata, idempotency_key, request_digest, user_id,
    reader, place
  )
), added AS (
  INSERT INTO knowledge_facts (
    id, tenant_id, subject, predicate, content, embedding, embedding_version, search_vector, importance, decay_rate,
    permanence, source_butler, source_episode_id, supersedes_id, entity_id, validity, scope, created_at,
    last_confirmed_at, tags, metadata, idempotency_key, request_digest, user_id, reader
  )
  SELECT g.id, $1, g.subject, g.predicate, g.content, g.embedding, CASE WHEN g.embedding IS NOT NULL THEN $3 END,
    to_tsvector('english', g.searched), g.importance, g.decay_rate, g.permanence, g.source_butler, g.source_episode_id,
    g.supersedes_id, g.entity_id, g.validity, g.scope, g.moment, g.moment, g.tags::jsonb, g.metadata, g.idempotency_key,
    g.request_digest, g.user_id, g.reader
  FROM given AS g ORDER BY g.place
), linked AS (
  INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT $1, 'fact', g.id, 'fact', g.supersedes_id, 'supersedes', $2 FROM given AS g WHERE g.supersedes_id IS NOT NULL
)
INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
SELECT $1, 'fact', g.id, 'vector' FROM given AS g WHERE $4::boolean AND g.embedding IS NULL;

-- name: share_entities
-- Entities that are to get facts, as far as whom asks ($3) sees them; nobody merges them meanwhile.
SELECT e.id, e.metadata ->> 'merged_into' AS merged_into FROM knowledge_entities AS e
WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[])
  AND (($3::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($3)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($3, f.scope, f.reader, f.user_id, f.shared)))
ORDER BY e.id FOR SHARE OF e;
