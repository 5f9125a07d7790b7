-- How memories are found. In each way to find: $1 tenant, $2 the scope of the user who asks, $3 scope or null, $4 how many a
-- leg gives, $5 vector or null, $6 the model whose vectors meet, $7 words or '', $8 now, $9 the least effective confidence,
-- $10 and $11 from when on and before when it was stored, or null. `<nearest>` becomes the order by distance, by the index
-- or exactly.

-- name: find_episodes
-- The episodes nearest to a vector and those with the words, each with its place on either list. Beside those of the scope
-- come those that name a user ($12, or null) as theirs: of all agents, or of one ($13).
WITH semantic AS MATERIALIZED (
  SELECT e.id, 1 - (e.embedding <=> $5) AS similarity,
    row_number() OVER (ORDER BY e.embedding <=> $5, e.created_at DESC, e.id) AS place
  FROM (
    SELECT e.id, e.embedding, e.created_at FROM knowledge_episodes AS e
    WHERE $5::vector IS NOT NULL AND e.embedding_version = $6 AND e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared)
    AND ($3::text IS NULL OR e.butler = $3 OR (e.user_id = $12::text
      AND ($13::text IS NULL OR e.butler = $13)))
    AND e.expires_at > $8 AND 1.0 >= $9::double precision
    AND ($10::timestamptz IS NULL OR e.created_at >= $10) AND ($11::timestamptz IS NULL OR e.created_at < $11)
    ORDER BY <nearest>, e.created_at DESC, e.id LIMIT $4
  ) AS e
), keyword AS MATERIALIZED (
  SELECT k.id, k.rank, row_number() OVER (ORDER BY k.rank DESC, k.created_at DESC, k.id) AS place
  FROM (
    SELECT e.id, e.created_at, ts_rank(e.search_vector, q.query)::double precision AS rank
    FROM plainto_tsquery('english', $7) AS q (query) CROSS JOIN knowledge_episodes AS e
    WHERE $7 <> '' AND e.search_vector @@ q.query AND e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared)
    AND ($3::text IS NULL OR e.butler = $3 OR (e.user_id = $12::text
      AND ($13::text IS NULL OR e.butler = $13)))
    AND e.expires_at > $8 AND 1.0 >= $9::double precision
    AND ($10::timestamptz IS NULL OR e.created_at >= $10) AND ($11::timestamptz IS NULL OR e.created_at < $11)
    ORDER BY rank DESC, e.created_at DESC, e.id LIMIT $4
  ) AS k
)
SELECT e.id, e.tenant_id, e.content, e.reference_count, e.created_at, e.last_referenced_at, e.metadata,
  e.embedding_version, e.user_id, e.shared, e.butler, e.session_id, e.importance, e.consolidated, e.consolidation_status, e.retry_count,
  e.last_error, e.expires_at,
  s.similarity, s.place AS semantic_rank, k.rank, k.place AS keyword_rank
FROM semantic AS s FULL JOIN keyword AS k ON k.id = s.id
JOIN knowledge_episodes AS e ON e.tenant_id = $1 AND e.id = coalesce(s.id, k.id);

-- name: find_facts
-- The facts nearest to a vector and those with the words, each with its place on either list.
WITH semantic AS MATERIALIZED (
  SELECT f.id, 1 - (f.embedding <=> $5) AS similarity,
    row_number() OVER (ORDER BY f.embedding <=> $5, f.created_at DESC, f.id) AS place
  FROM (
    SELECT f.id, f.embedding, f.created_at FROM knowledge_facts AS f
    WHERE $5::vector IS NOT NULL AND f.embedding_version = $6 AND f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
    AND ($3::text IS NULL OR knowledge_is_of(f.scope, f.reader, $3)) AND f.validity = 'active'
    AND CASE WHEN f.decay_rate = 0 THEN f.confidence WHEN f.last_confirmed_at IS NULL THEN 0
      ELSE f.confidence * exp(greatest(-700, -f.decay_rate
        * greatest(0, extract(epoch FROM $8::timestamptz - f.last_confirmed_at)::double precision) / 86400)) END >= $9::double precision
    AND ($10::timestamptz IS NULL OR f.created_at >= $10) AND ($11::timestamptz IS NULL OR f.created_at < $11)
    ORDER BY <nearest>, f.created_at DESC, f.id LIMIT $4
  ) AS f
), keyword AS MATERIALIZED (
  SELECT k.id, k.rank, row_number() OVER (ORDER BY k.rank DESC, k.created_at DESC, k.id) AS place
  FROM (
    SELECT f.id, f.created_at, ts_rank(f.search_vector, q.query)::double precision AS rank
    FROM plainto_tsquery('english', $7) AS q (query) CROSS JOIN knowledge_facts AS f
    WHERE $7 <> '' AND f.search_vector @@ q.query AND f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
    AND ($3::text IS NULL OR knowledge_is_of(f.scope, f.reader, $3)) AND f.validity = 'active'
    AND CASE WHEN f.decay_rate = 0 THEN f.confidence WHEN f.last_confirmed_at IS NULL THEN 0
      ELSE f.confidence * exp(greatest(-700, -f.decay_rate
        * greatest(0, extract(epoch FROM $8::timestamptz - f.last_confirmed_at)::double precision) / 86400)) END >= $9::double precision
    AND ($10::timestamptz IS NULL OR f.created_at >= $10) AND ($11::timestamptz IS NULL OR f.created_at < $11)
    ORDER BY rank DESC, f.created_at DESC, f.id LIMIT $4
  ) AS k
)
SELECT f.id, f.tenant_id, f.content, f.reference_count, f.created_at, f.last_referenced_at, f.metadata,
  f.embedding_version, f.user_id, f.shared, f.subject, f.predicate, f.importance, f.confidence, f.decay_rate, f.permanence, f.source_butler,
  f.source_episode_id, f.supersedes_id, f.entity_id, f.validity, f.scope, f.last_confirmed_at, f.tags,
  s.similarity, s.place AS semantic_rank, k.rank, k.place AS keyword_rank
FROM semantic AS s FULL JOIN keyword AS k ON k.id = s.id
JOIN knowledge_facts AS f ON f.tenant_id = $1 AND f.id = coalesce(s.id, k.id);

-- name: find_rules
-- The rules nearest to a vector and those with the words, each with its place on either list.
WITH semantic AS MATERIALIZED (
  SELECT r.id, 1 - (r.embedding <=> $5) AS similarity,
    row_number() OVER (ORDER BY r.embedding <=> $5, r.created_at DESC, r.id) AS place
  FROM (
    SELECT r.id, r.embedding, r.created_at FROM knowledge_rules AS r
    WHERE $5::vector IS NOT NULL AND r.embedding_version = $6 AND r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared)
    AND ($3::text IS NULL OR knowledge_is_of(r.scope, r.reader, $3))
    AND coalesce((r.metadata -> 'forgotten')::boolean, false) = false
    AND CASE WHEN r.decay_rate = 0 THEN r.confidence WHEN r.last_confirmed_at IS NULL THEN 0
      ELSE r.confidence * exp(greatest(-700, -r.decay_rate
        * greatest(0, extract(epoch FROM $8::timestamptz - r.last_confirmed_at)::double precision) / 86400)) END >= $9::double precision
    AND ($10::timestamptz IS NULL OR r.created_at >= $10) AND ($11::timestamptz IS NULL OR r.created_at < $11)
    ORDER BY <nearest>, r.created_at DESC, r.id LIMIT $4
  ) AS r
), keyword AS MATERIALIZED (
  SELECT k.id, k.rank, row_number() OVER (ORDER BY k.rank DESC, k.created_at DESC, k.id) AS place
  FROM (
    SELECT r.id, r.created_at, ts_rank(r.search_vector, q.query)::double precision AS rank
    FROM plainto_tsquery('english', $7) AS q (query) CROSS JOIN knowledge_rules AS r
    WHERE $7 <> '' AND r.search_vector @@ q.query AND r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared)
    AND ($3::text IS NULL OR knowledge_is_of(r.scope, r.reader, $3))
    AND coalesce((r.metadata -> 'forgotten')::boolean, false) = false
    AND CASE WHEN r.decay_rate = 0 THEN r.confidence WHEN r.last_confirmed_at IS NULL THEN 0
      ELSE r.confidence * exp(greatest(-700, -r.decay_rate
        * greatest(0, extract(epoch FROM $8::timestamptz - r.last_confirmed_at)::double precision) / 86400)) END >= $9::double precision
    AND ($10::timestamptz IS NULL OR r.created_at >= $10) AND ($11::timestamptz IS NULL OR r.created_at < $11)
    ORDER BY rank DESC, r.created_at DESC, r.id LIMIT $4
  ) AS k
)
SELECT r.id, r.tenant_id, r.content, r.reference_count, r.created_at, r.last_referenced_at, r.metadata,
  r.embedding_version, r.user_id, r.shared, r.scope, r.maturity, r.confidence, r.decay_rate, r.permanence, r.effectiveness_score,
  r.applied_count, r.success_count, r.harmful_count, r.source_episode_id, r.source_butler, r.last_applied_at,
  r.last_evaluated_at, r.last_confirmed_at, r.tags,
  s.similarity, s.place AS semantic_rank, k.rank, k.place AS keyword_rank
FROM semantic AS s FULL JOIN keyword AS k ON k.id = s.id
JOIN knowledge_rules AS r ON r.tenant_id = $1 AND r.id = coalesce(s.id, k.id);

-- name: count_searched
-- How many episodes, facts and rules a tenant has that a search may read, each up to a bound ($2).
SELECT
  (SELECT count(*) FROM (SELECT FROM knowledge_episodes AS e WHERE e.tenant_id = $1 LIMIT $2) AS c) AS episode,
  (SELECT count(*) FROM (
    SELECT FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.validity = 'active' LIMIT $2) AS c) AS fact,
  (SELECT count(*) FROM (SELECT FROM knowledge_rules AS r WHERE r.tenant_id = $1 LIMIT $2) AS c) AS rule;

-- name: bump_references
-- Counts a reference to facts ($3) and rules ($4).
WITH facts AS (
  UPDATE knowledge_facts AS f SET reference_count = f.reference_count + 1, last_referenced_at = $2
  FROM (SELECT o.id FROM knowledge_facts AS o WHERE o.tenant_id = $1 AND o.id = ANY ($3::uuid[])
        ORDER BY o.id FOR NO KEY UPDATE) AS l
  WHERE f.tenant_id = $1 AND f.id = l.id
)
UPDATE knowledge_rules AS r SET reference_count = r.reference_count + 1, last_referenced_at = $2
FROM (SELECT o.id FROM knowledge_rules AS o WHERE o.tenant_id = $1 AND o.id = ANY ($4::uuid[])
      ORDER BY o.id FOR NO KEY UPDATE) AS l
WHERE r.tenant_id = $1 AND r.id = l.id;

-- name: contents_of_memories
-- What memories say now, for whom asks.
SELECT 'episode' AS memory_type, e.id, e.content FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = ANY ($3::uuid[])
UNION ALL
SELECT 'fact', f.id, f.subject || ' ' || f.predicate || ': ' || f.content FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = ANY ($3::uuid[])
UNION ALL
SELECT 'rule', r.id, r.content FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = ANY ($3::uuid[]);

-- name: memory_stats
-- How many memories there are, by state; facts and rules of all scopes, or of the global one and $3.
SELECT
  (SELECT jsonb_build_object(
    'total', count(*),
    'unconsolidated', count(*) FILTER (WHERE e.consolidation_status = 'pending'),
    'retrying', count(*) FILTER (WHERE e.consolidation_status = 'pending' AND e.retry_count > 0),
    'dead_letter', count(*) FILTER (WHERE e.consolidation_status = 'dead_letter'),
    'backlog_age_hours', extract(epoch FROM $4::timestamptz
      - min(e.created_at) FILTER (WHERE e.consolidation_status = 'pending'))::double precision / 3600)
   FROM knowledge_episodes AS e
   WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared)) AS episodes,
  (SELECT jsonb_build_object(
    'active', count(*) FILTER (WHERE f.validity = 'active' AND f.metadata ->> 'status' IS DISTINCT FROM 'fading'),
    'fading', count(*) FILTER (WHERE f.validity = 'active' AND f.metadata ->> 'status' = 'fading'),
    'superseded', count(*) FILTER (WHERE f.validity = 'superseded'),
    'expired', count(*) FILTER (WHERE f.validity = 'expired'),
    'retracted', count(*) FILTER (WHERE f.validity = 'retracted'))
   FROM knowledge_facts AS f
   WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
     AND ($3::text IS NULL OR knowledge_is_of(f.scope, f.reader, $3))) AS facts,
  (SELECT jsonb_build_object(
    'candidate', count(*) FILTER (WHERE NOT g.forgotten AND r.maturity = 'candidate'),
    'established', count(*) FILTER (WHERE NOT g.forgotten AND r.maturity = 'established'),
    'proven', count(*) FILTER (WHERE NOT g.forgotten AND r.maturity = 'proven'),
    'anti_pattern', count(*) FILTER (WHERE NOT g.forgotten AND r.maturity = 'anti_pattern'),
    'forgotten', count(*) FILTER (WHERE g.forgotten))
   FROM knowledge_rules AS r
   CROSS JOIN LATERAL (SELECT coalesce((r.metadata -> 'forgotten')::boolean, false) AS forgotten) AS g
   WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared)
     AND ($3::text IS NULL OR knowledge_is_of(r.scope, r.reader, $3))) AS rules;
