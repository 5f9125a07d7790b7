-- How rules are written.

-- name: find_repeated_rules
-- The rules that were stored with these idempotency keys.
SELECT r.idempotency_key, r.user_id, r.request_digest, r.id FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND r.idempotency_key = ANY ($2::text[]);

-- name: insert_rules
-- Adds rules, each a microsecond after the one before it, by which lists and prompts keep their order; and jobs for the
-- vectors that they lack ($4: the model is away).
WITH given AS MATERIALIZED (
  SELECT t.*, $2::timestamptz + (t.place - 1) * interval '1 microsecond' AS moment FROM unnest(
    $7::uuid[], $8::text[], $9::vector[], $10::text[], $11::text[], $12::text[], $13::uuid[], $14::text[], $15::jsonb[],
    $16::text[], $17::bytea[], $18::text[], $19::text[]
  ) WITH ORDINALITY AS t (
    id, content, embedding, searched, scope, source_butler, source_episode_id, tags, metadata, idempotency_key,
    request_digest, user_id, reader, place
  )
), added AS (
  INSERT INTO knowledge_rules (
    id, tenant_id, content, embedding, embedding_version, search_vector, scope, confidence, decay_rate, source_butler,
    source_episode_id, created_at, last_confirmed_at, tags, metadata, idempotency_key, request_digest, user_id, reader
  )
  SELECT g.id, $1, g.content, g.embedding, CASE WHEN g.embedding IS NOT NULL THEN $3 END,
    to_tsvector('english', g.searched), g.scope, $5, $6, g.source_butler, g.source_episode_id, g.moment, g.moment, g.tags::jsonb,
    g.metadata, g.idempotency_key, g.request_digest, g.user_id, g.reader
  FROM given AS g ORDER BY g.place
)
INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
SELECT $1, 'rule', g.id, 'vector' FROM given AS g WHERE $4::boolean AND g.embedding IS NULL;
