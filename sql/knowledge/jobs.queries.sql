-- The jobs of memories: vectors for those that have none of the configured model, and rules to be inverted.

-- name: read_jobs
-- What open jobs are about. A memory that is gone, or that nobody is given any more, has no content here; nor has one
-- that has its vector ($2: of this model), or a rule that is not to be inverted.
SELECT
  o.outbox_id, o.tenant_id, o.kind, o.memory_type, o.memory_id, f.subject, f.predicate,
  coalesce(e.content, f.content, r.content) AS content,
  coalesce(e.embedding_version, f.embedding_version, r.embedding_version) AS former_version,
  coalesce(r.metadata -> 'harmful_reasons', '[]') AS reasons
FROM knowledge_outbox AS o
LEFT JOIN knowledge_episodes AS e
  ON o.memory_type = 'episode' AND e.tenant_id = o.tenant_id AND e.id = o.memory_id AND o.kind = 'vector'
  AND e.embedding_version IS DISTINCT FROM $2 AND (e.expires_at IS NULL OR e.expires_at > $3)
LEFT JOIN knowledge_facts AS f
  ON o.memory_type = 'fact' AND f.tenant_id = o.tenant_id AND f.id = o.memory_id AND o.kind = 'vector'
  AND f.embedding_version IS DISTINCT FROM $2 AND f.validity <> 'retracted'
LEFT JOIN knowledge_rules AS r
  ON o.memory_type = 'rule' AND r.tenant_id = o.tenant_id AND r.id = o.memory_id
  AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true'
  AND CASE o.kind WHEN 'vector' THEN r.embedding_version IS DISTINCT FROM $2
    ELSE r.metadata -> 'needs_inversion' IS NOT DISTINCT FROM 'true' END
WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status IN ('PENDING', 'FAILED')
ORDER BY o.memory_type, o.memory_id;

-- name: keep_memory_vectors
-- Gives memories their vectors, unless one has got one of this model ($1) meanwhile, or has another content; tells which.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($2::text[], $3::text[], $4::uuid[], $5::text[], $6::vector[])
    AS t (memory_type, tenant_id, id, content, embedding)
), episodes AS (
  UPDATE knowledge_episodes AS e SET embedding = g.embedding, embedding_version = $1
  FROM given AS g
  WHERE g.memory_type = 'episode' AND e.tenant_id = g.tenant_id AND e.id = g.id AND e.content = g.content
    AND e.embedding_version IS DISTINCT FROM $1
  RETURNING e.id
), facts AS (
  UPDATE knowledge_facts AS f SET embedding = g.embedding, embedding_version = $1
  FROM given AS g
  WHERE g.memory_type = 'fact' AND f.tenant_id = g.tenant_id AND f.id = g.id AND f.content = g.content
    AND f.embedding_version IS DISTINCT FROM $1
  RETURNING f.id
), rules AS (
  UPDATE knowledge_rules AS r SET embedding = g.embedding, embedding_version = $1
  FROM given AS g
  WHERE g.memory_type = 'rule' AND r.tenant_id = g.tenant_id AND r.id = g.id AND r.content = g.content
    AND r.embedding_version IS DISTINCT FROM $1
  RETURNING r.id
)
SELECT id FROM episodes UNION ALL SELECT id FROM facts UNION ALL SELECT id FROM rules;

-- name: record_embedding_version
-- Keeps since when a model has written vectors here.
INSERT INTO knowledge_embedding_versions (embedding_version, provider, model, dimensions, first_used_at)
VALUES ($1, $2, $3, $4, $5)
ON CONFLICT DO NOTHING;

-- name: lock_rule_to_invert
-- A rule that is to be inverted; none when it is not any more.
SELECT r.content, r.maturity, r.harmful_count, r.effectiveness_score,
  coalesce(r.metadata -> 'harmful_reasons', '[]') AS reasons
FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND r.id = $2 AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true'
  AND r.metadata -> 'needs_inversion' IS NOT DISTINCT FROM 'true'
FOR NO KEY UPDATE;

-- name: invert_rule
-- Makes a rule, which is locked, an anti-pattern, and a job for the vector that it lacks. What was given up of its former
-- content is forgotten.
WITH job AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT $1, 'rule', $2, 'vector' WHERE $5::vector IS NULL
), ended AS (
  DELETE FROM knowledge_outbox AS b
  WHERE b.tenant_id = $1 AND b.memory_id = $2 AND b.status IN ('GIVEN_UP', 'DISCARDED')
)
UPDATE knowledge_rules AS r
SET content = $3, search_vector = to_tsvector('english', $4::text), embedding = $5, maturity = 'anti_pattern',
  embedding_version = CASE WHEN $5 IS NOT NULL THEN $6::text END,
  metadata = r.metadata || jsonb_build_object('original_content', r.content, 'needs_inversion', false)
WHERE r.tenant_id = $1 AND r.id = $2;

-- name: drop_done_jobs
-- Removes jobs that were done before $1, and those that were given up or discarded before, and whose memory is gone.
WITH done AS (
  SELECT o.outbox_id FROM knowledge_outbox AS o
  WHERE o.status = 'DONE' AND o.updated_at < $1 ORDER BY o.updated_at LIMIT $2 FOR UPDATE SKIP LOCKED
), given_up AS (
  SELECT o.outbox_id FROM knowledge_outbox AS o
  WHERE o.status IN ('GIVEN_UP', 'DISCARDED') AND o.updated_at < $1
    AND NOT EXISTS (SELECT FROM knowledge_episodes AS e WHERE e.tenant_id = o.tenant_id AND e.id = o.memory_id)
    AND NOT EXISTS (SELECT FROM knowledge_facts AS f WHERE f.tenant_id = o.tenant_id AND f.id = o.memory_id)
    AND NOT EXISTS (SELECT FROM knowledge_rules AS r WHERE r.tenant_id = o.tenant_id AND r.id = o.memory_id)
  LIMIT $2 FOR UPDATE SKIP LOCKED
)
DELETE FROM knowledge_outbox WHERE outbox_id = ANY (ARRAY(
  SELECT outbox_id FROM done UNION ALL SELECT outbox_id FROM given_up LIMIT $2))
RETURNING outbox_id;
