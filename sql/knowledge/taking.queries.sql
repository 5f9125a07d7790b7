-- Taking in what was exported. What is there already stays as it is; each tells how much is new.

-- name: lock_intake
-- Waits until nobody else takes knowledge in, of whatever tenant, and keeps others from it until the transaction ends: of
-- two tenants that take the same ids in at once, one has to be given others.
SELECT pg_advisory_xact_lock(hashtextextended('knowledge is taken in', 0));

-- name: find_known_ids
-- Those of ids ($2) that stand for something, and whether it is this tenant's.
SELECT k.id, bool_or(k.tenant_id = $1) AS is_own FROM (
  SELECT id, tenant_id FROM knowledge_entities UNION ALL SELECT id, tenant_id FROM knowledge_episodes
  UNION ALL SELECT id, tenant_id FROM knowledge_facts UNION ALL SELECT id, tenant_id FROM knowledge_rules
  UNION ALL SELECT id, tenant_id FROM knowledge_rule_applications UNION ALL SELECT id, tenant_id FROM knowledge_events
) AS k
WHERE k.id = ANY ($2::uuid[]) GROUP BY k.id;

-- name: take_in_entities
-- Adds entities, but for those whose id, or name and type, is taken.
WITH added AS (
  INSERT INTO knowledge_entities (
    id, tenant_id, canonical_name, entity_type, aliases, names, searched, metadata, created_at, updated_at, user_id
  )
  SELECT g.id, $1, g.canonical_name, g.entity_type, a.aliases, n.names, array_to_string(n.names, E'\n'), g.metadata,
    g.created_at, g.updated_at, g.user_id
  FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::jsonb[], $7::timestamptz[], $8::timestamptz[], $9::text[]
  ) AS g (id, canonical_name, entity_type, aliases, metadata, created_at, updated_at, user_id)
  CROSS JOIN LATERAL (SELECT ARRAY(SELECT jsonb_array_elements_text(g.aliases::jsonb)) AS aliases) AS a
  CROSS JOIN LATERAL (
    SELECT array_agg(DISTINCT lower(t.name)) AS names FROM unnest(a.aliases || g.canonical_name) AS t (name)
  ) AS n
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM added;

-- name: take_in_episodes
-- Adds episodes, and jobs for the vectors of those whose time is not over at $2. A key of another request is left out.
WITH added AS (
  INSERT INTO knowledge_episodes (
    id, tenant_id, butler, session_id, content, search_vector, importance, reference_count, consolidated,
    consolidation_status, retry_count, last_error, available_at, created_at, last_referenced_at, expires_at, metadata,
    idempotency_key, request_digest, user_id, shared
  )
  SELECT g.id, $1, g.butler, g.session_id, g.content, to_tsvector('english', g.searched), g.importance, g.reference_count,
    g.consolidated, g.consolidation_status, g.retry_count, g.last_error, g.available_at, g.created_at,
    g.last_referenced_at, g.expires_at, g.metadata, CASE WHEN k.id IS NULL THEN g.idempotency_key END,
    CASE WHEN k.id IS NULL THEN g.request_digest END, g.user_id, g.shared
  FROM unnest(
    $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::float8[], $8::int[], $9::boolean[], $10::text[], $11::int[],
    $12::text[], $13::timestamptz[], $14::timestamptz[], $15::timestamptz[], $16::timestamptz[], $17::jsonb[], $18::text[],
    $19::bytea[], $20::text[], $21::boolean[], $22::text[]
  ) AS g (
    id, butler, session_id, content, importance, reference_count, consolidated, consolidation_status, retry_count,
    last_error, available_at, created_at, last_referenced_at, expires_at, metadata, idempotency_key, request_digest,
    user_id, shared, searched
  )
  LEFT JOIN knowledge_episodes AS k ON k.tenant_id = $1 AND k.idempotency_key = g.idempotency_key
    AND coalesce(k.user_id, '') = coalesce(g.user_id, '')
  ON CONFLICT DO NOTHING
  RETURNING id, expires_at
), jobs AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT $1, 'episode', a.id, 'vector' FROM added AS a WHERE a.expires_at IS NULL OR a.expires_at > $2
)
SELECT count(*) FROM added;

-- name: take_in_facts
-- Adds facts, and jobs for their vectors. A source that is not there is left out; whom a fact is about is found by id, or
-- else by name. An active fact whose place is taken here is one that was superseded, and a link says by which.
WITH given AS MATERIALIZED (
  SELECT g.*, n.id AS about, s.id AS source_id, o.id AS by_id, k.id AS key_taken_by
  FROM unnest(
    $3::uuid[], $4::text[], $5::text[], $6::text[], $7::float8[], $8::float8[], $9::float8[], $10::text[], $11::text[],
    $12::uuid[], $13::uuid[], $14::text[], $15::text[], $16::text[], $17::text[], $18::int[], $19::timestamptz[],
    $20::timestamptz[], $21::timestamptz[], $22::text[], $23::jsonb[], $24::text[], $25::bytea[], $26::text[],
    $27::boolean[], $28::text[], $29::text[]
  ) AS g (
    id, subject, predicate, content, importance, confidence, decay_rate, permanence, source_butler, source_episode_id,
    entity_id, entity_name, entity_type, validity, scope, reference_count, created_at, last_referenced_at,
    last_confirmed_at, tags, metadata, idempotency_key, request_digest, user_id, shared, reader, searched
  )
  LEFT JOIN LATERAL (
    SELECT e.id FROM knowledge_entities AS e
    WHERE e.tenant_id = $1 AND (e.id = g.entity_id OR (e.canonical_name = g.entity_name AND e.entity_type = g.entity_type
      AND (e.user_id IS NULL OR e.user_id = g.user_id)))
    ORDER BY e.id = g.entity_id DESC LIMIT 1
  ) AS n ON g.entity_id IS NOT NULL
  LEFT JOIN knowledge_episodes AS s ON s.tenant_id = $1 AND s.id = g.source_episode_id
  LEFT JOIN knowledge_facts AS k ON k.tenant_id = $1 AND k.idempotency_key = g.idempotency_key
    AND coalesce(k.user_id, '') = coalesce(g.user_id, '')
  LEFT JOIN LATERAL (
    SELECT f.id FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.validity = 'active' AND f.scope = g.scope AND f.predicate = g.predicate AND f.id <> g.id
      AND coalesce(f.user_id, '') = coalesce(g.user_id, '')
      AND (f.entity_id = n.id OR (f.entity_id IS NULL AND n.id IS NULL AND f.subject = g.subject))
  ) AS o ON g.validity = 'active'
), added AS (
  INSERT INTO knowledge_facts (
    id, tenant_id, subject, predicate, content, search_vector, importance, confidence, decay_rate, permanence,
    source_butler, source_episode_id, entity_id, validity, scope, reference_count, created_at, last_referenced_at,
    last_confirmed_at, tags, metadata, idempotency_key, request_digest, user_id, shared, reader
  )
  SELECT g.id, $1, g.subject, g.predicate, g.content, to_tsvector('english', g.searched), g.importance, g.confidence,
    g.decay_rate, g.permanence, g.source_butler, g.source_id, g.about,
    CASE WHEN g.by_id IS NULL THEN g.validity ELSE 'superseded' END, g.scope, g.reference_count, g.created_at,
    g.last_referenced_at, g.last_confirmed_at, g.tags::jsonb, g.metadata,
    CASE WHEN g.key_taken_by IS NULL THEN g.idempotency_key END, CASE WHEN g.key_taken_by IS NULL THEN g.request_digest END,
    g.user_id, g.shared, g.reader
  FROM given AS g
  ON CONFLICT DO NOTHING
  RETURNING id, validity
), links AS (
  INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT $1, 'fact', g.by_id, 'fact', a.id, 'supersedes', $2
  FROM added AS a JOIN given AS g ON g.id = a.id WHERE g.by_id IS NOT NULL
  ON CONFLICT DO NOTHING
), jobs AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT $1, 'fact', a.id, 'vector' FROM added AS a WHERE a.validity <> 'retracted'
)
SELECT count(*) FROM added;

-- name: take_in_rules
-- Adds rules, and jobs for their vectors, and for those that are to be inverted. A source that is not there is left out.
WITH added AS (
  INSERT INTO knowledge_rules (
    id, tenant_id, content, search_vector, scope, maturity, confidence, decay_rate, permanence, effectiveness_score,
    applied_count, success_count, harmful_count, source_episode_id, source_butler, created_at, last_applied_at,
    last_evaluated_at, last_confirmed_at, reference_count, last_referenced_at, tags, metadata, idempotency_key,
    request_digest, user_id, shared, reader
  )
  SELECT g.id, $1, g.content, to_tsvector('english', g.searched), g.scope, g.maturity, g.confidence, g.decay_rate,
    g.permanence, g.effectiveness_score, g.applied_count, g.success_count, g.harmful_count, s.id, g.source_butler,
    g.created_at, g.last_applied_at, g.last_evaluated_at, g.last_confirmed_at, g.reference_count, g.last_referenced_at,
    g.tags::jsonb, g.metadata, CASE WHEN k.id IS NULL THEN g.idempotency_key END,
    CASE WHEN k.id IS NULL THEN g.request_digest END, g.user_id, g.shared, g.reader
  FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::float8[], $7::float8[], $8::text[], $9::float8[], $10::int[],
    $11::int[], $12::int[], $13::uuid[], $14::text[], $15::timestamptz[], $16::timestamptz[], $17::timestamptz[],
    $18::timestamptz[], $19::int[], $20::timestamptz[], $21::text[], $22::jsonb[], $23::text[], $24::bytea[], $25::text[],
    $26::boolean[], $27::text[], $28::text[]
  ) AS g (
    id, content, scope, maturity, confidence, decay_rate, permanence, effectiveness_score, applied_count, success_count,
    harmful_count, source_episode_id, source_butler, created_at, last_applied_at, last_evaluated_at, last_confirmed_at,
    reference_count, last_referenced_at, tags, metadata, idempotency_key, request_digest, user_id, shared, reader, searched
  )
  LEFT JOIN knowledge_episodes AS s ON s.tenant_id = $1 AND s.id = g.source_episode_id
  LEFT JOIN knowledge_rules AS k ON k.tenant_id = $1 AND k.idempotency_key = g.idempotency_key
    AND coalesce(k.user_id, '') = coalesce(g.user_id, '')
  ON CONFLICT DO NOTHING
  RETURNING id, metadata
), jobs AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT $1, 'rule', a.id, k.kind FROM added AS a CROSS JOIN unnest(ARRAY['vector', 'inversion']) AS k (kind)
  WHERE a.metadata -> 'forgotten' IS DISTINCT FROM 'true'
    AND (k.kind = 'vector' OR a.metadata -> 'needs_inversion' IS NOT DISTINCT FROM 'true')
)
SELECT count(*) FROM added;

-- name: take_in_supersessions
-- Says of facts which others they took the place of, where they say nothing of it yet.
WITH told AS (
  UPDATE knowledge_facts AS f SET supersedes_id = o.id
  FROM unnest($2::uuid[], $3::uuid[]) AS g (id, supersedes_id)
  JOIN knowledge_facts AS o ON o.tenant_id = $1 AND o.id = g.supersedes_id
  WHERE f.tenant_id = $1 AND f.id = g.id AND f.supersedes_id IS NULL
  RETURNING 1
)
SELECT count(*) FROM told;

-- name: take_in_applications
-- Adds what came of applying rules that are there.
WITH added AS (
  INSERT INTO knowledge_rule_applications (id, tenant_id, rule_id, outcome, context, reason, actor, created_at)
  SELECT g.id, $1, r.id, g.outcome, g.context, g.reason, g.actor, g.created_at
  FROM unnest($2::uuid[], $3::uuid[], $4::text[], $5::text[], $6::text[], $7::text[], $8::timestamptz[])
    AS g (id, rule_id, outcome, context, reason, actor, created_at)
  JOIN knowledge_rules AS r ON r.tenant_id = $1 AND r.id = g.rule_id
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM added;

-- name: take_in_links
-- Adds links.
WITH added AS (
  INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
  SELECT $1, g.source_type, g.source_id, g.target_type, g.target_id, g.relation, g.created_at
  FROM unnest($2::text[], $3::uuid[], $4::text[], $5::uuid[], $6::text[], $7::timestamptz[])
    AS g (source_type, source_id, target_type, target_id, relation, created_at)
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM added;

-- name: take_in_events
-- Adds events, in their order.
WITH added AS (
  INSERT INTO knowledge_events (
    id, event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at, user_id
  )
  SELECT g.id, g.event_type, g.actor, $1, g.memory_type, g.memory_id, g.request_id, g.payload, g.created_at, g.user_id
  FROM unnest(
    $2::uuid[], $3::text[], $4::text[], $5::text[], $6::uuid[], $7::text[], $8::jsonb[], $9::timestamptz[], $10::text[]
  ) WITH ORDINALITY AS g (
    id, event_type, actor, memory_type, memory_id, request_id, payload, created_at, user_id, place
  )
  ORDER BY g.place
  ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM added;
