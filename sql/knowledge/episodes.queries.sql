-- How episodes are written.

-- name: find_repeated_episodes
-- The episodes that were stored with these idempotency keys.
SELECT e.idempotency_key, e.user_id, e.request_digest, e.id, e.expires_at, length(e.content) AS chars FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND e.idempotency_key = ANY ($2::text[]);

-- name: share_episodes
-- Episodes that something is said to be from, and whose they are; nobody deletes them meanwhile.
SELECT e.id, e.user_id FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = ANY ($3::uuid[])
ORDER BY e.id FOR KEY SHARE OF e;

-- name: insert_episodes
-- Adds episodes, each a microsecond after the one before it, by which lists and prompts keep their order; and jobs for the
-- vectors that they lack ($4: the model is away).
WITH given AS MATERIALIZED (
  SELECT * FROM unnest(
    $6::uuid[], $7::text[], $8::uuid[], $9::text[], $10::vector[], $11::text[], $12::float8[], $13::jsonb[], $14::text[],
    $15::bytea[], $16::text[]
  ) WITH ORDINALITY AS t (
    id, butler, session_id, content, embedding, searched, importance, metadata, idempotency_key, request_digest, user_id,
    place
  )
), added AS (
  INSERT INTO knowledge_episodes (
    id, tenant_id, butler, session_id, content, embedding, embedding_version, search_vector, importance, created_at,
    expires_at, metadata, idempotency_key, request_digest, user_id
  )
  SELECT g.id, $1, g.butler, g.session_id, g.content, g.embedding, CASE WHEN g.embedding IS NOT NULL THEN $3 END,
    to_tsvector('english', g.searched), g.importance, $2::timestamptz + (g.place - 1) * interval '1 microsecond', $5, g.metadata, g.idempotency_key,
    g.request_digest, g.user_id
  FROM given AS g ORDER BY g.place
)
INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
SELECT $1, 'episode', g.id, 'vector' FROM given AS g WHERE $4::boolean AND g.embedding IS NULL;
