-- What is kept, as it is read. Rows are told whole but for vectors; $2 is what who asks reaches (knowledge_reaches).

-- name: get_episode
-- Reads an episode, which counts as a reference.
UPDATE knowledge_episodes AS e SET reference_count = e.reference_count + 1, last_referenced_at = $4
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = $3
RETURNING e.id, e.tenant_id, e.content, e.reference_count, e.created_at, e.last_referenced_at, e.metadata,
  e.embedding_version, e.user_id, e.shared, e.butler, e.session_id, e.importance, e.consolidated, e.consolidation_status, e.retry_count,
  e.last_error, e.expires_at;

-- name: get_fact
-- Reads a fact, which counts as a reference.
UPDATE knowledge_facts AS f SET reference_count = f.reference_count + 1, last_referenced_at = $4
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = $3
RETURNING f.id, f.tenant_id, f.content, f.reference_count, f.created_at, f.last_referenced_at, f.metadata,
  f.embedding_version, f.user_id, f.shared, f.subject, f.predicate, f.importance, f.confidence, f.decay_rate, f.permanence, f.source_butler,
  f.source_episode_id, f.supersedes_id, f.entity_id, f.validity, f.scope, f.last_confirmed_at, f.tags;

-- name: get_rule
-- Reads a rule, which counts as a reference.
UPDATE knowledge_rules AS r SET reference_count = r.reference_count + 1, last_referenced_at = $4
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = $3
RETURNING r.id, r.tenant_id, r.content, r.reference_count, r.created_at, r.last_referenced_at, r.metadata,
  r.embedding_version, r.user_id, r.shared, r.scope, r.maturity, r.confidence, r.decay_rate, r.permanence, r.effectiveness_score,
  r.applied_count, r.success_count, r.harmful_count, r.source_episode_id, r.source_butler, r.last_applied_at,
  r.last_evaluated_at, r.last_confirmed_at, r.tags;

-- name: list_episodes
-- A page of episodes, newest first, behind a place.
SELECT e.id, e.tenant_id, e.content, e.reference_count, e.created_at, e.last_referenced_at, e.metadata,
  e.embedding_version, e.user_id, e.shared, e.butler, e.session_id, e.importance, e.consolidated, e.consolidation_status, e.retry_count,
  e.last_error, e.expires_at
FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared)
  AND (e.created_at, e.id) < ($3, $4)
  AND ($6::text IS NULL OR e.butler = $6) AND ($7::uuid IS NULL OR e.session_id = $7)
  AND ($8::text IS NULL OR e.consolidation_status = $8)
ORDER BY e.created_at DESC, e.id DESC LIMIT $5;

-- name: list_facts
-- A page of facts, newest first, behind a place.
SELECT f.id, f.tenant_id, f.content, f.reference_count, f.created_at, f.last_referenced_at, f.metadata,
  f.embedding_version, f.user_id, f.shared, f.subject, f.predicate, f.importance, f.confidence, f.decay_rate, f.permanence, f.source_butler,
  f.source_episode_id, f.supersedes_id, f.entity_id, f.validity, f.scope, f.last_confirmed_at, f.tags
FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
  AND (f.created_at, f.id) < ($3, $4)
  AND f.validity = $6 AND ($7::text IS NULL OR f.scope = $7) AND ($8::text IS NULL OR f.subject = $8)
  AND ($9::text IS NULL OR f.predicate = $9) AND ($10::uuid IS NULL OR f.entity_id = $10)
  AND ($11::jsonb IS NULL OR f.tags @> $11)
ORDER BY f.created_at DESC, f.id DESC LIMIT $5;

-- name: list_rules
-- A page of rules, newest first, behind a place; forgotten ones or others.
SELECT r.id, r.tenant_id, r.content, r.reference_count, r.created_at, r.last_referenced_at, r.metadata,
  r.embedding_version, r.user_id, r.shared, r.scope, r.maturity, r.confidence, r.decay_rate, r.permanence, r.effectiveness_score,
  r.applied_count, r.success_count, r.harmful_count, r.source_episode_id, r.source_butler, r.last_applied_at,
  r.last_evaluated_at, r.last_confirmed_at, r.tags
FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared)
  AND (r.created_at, r.id) < ($3, $4)
  AND ($6::text IS NULL OR r.scope = $6) AND ($7::text IS NULL OR r.maturity = $7)
  AND coalesce((r.metadata -> 'forgotten')::boolean, false) = $8 AND ($9::jsonb IS NULL OR r.tags @> $9)
ORDER BY r.created_at DESC, r.id DESC LIMIT $5;

-- name: list_events
-- A page of what changed, newest first, behind a place. What became of memories of another user is left out, whether they
-- are there or gone, and so are links to them: whose one was stands in the event that it was made.
SELECT v.id, v.event_type, v.actor, v.memory_type, v.memory_id, v.request_id, v.payload, v.created_at, v.seq
FROM knowledge_events AS v
WHERE v.tenant_id = $1 AND (v.created_at, v.seq) < ($3, $4)
  AND ($6::text IS NULL OR v.event_type = $6) AND ($7::text IS NULL OR v.memory_type = $7)
  AND ($8::uuid IS NULL OR v.memory_id = $8)
  AND knowledge_reaches($2, coalesce(v.payload ->> 'scope', v.payload ->> 'butler', ''), v.payload ->> 'reader', v.user_id, false)
  AND NOT EXISTS (SELECT FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = v.memory_id
    AND NOT knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared))
  AND NOT EXISTS (SELECT FROM knowledge_rules AS r WHERE r.tenant_id = $1 AND r.id = v.memory_id
    AND NOT knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared))
  AND NOT EXISTS (SELECT FROM knowledge_episodes AS e WHERE e.tenant_id = $1 AND e.id = v.memory_id
    AND NOT knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared))
  AND NOT EXISTS (SELECT FROM knowledge_events AS c
    WHERE c.tenant_id = $1 AND c.memory_id IN (v.memory_id, (v.payload ->> 'target_id')::uuid)
      AND c.event_type IN ('episode_created', 'fact_created', 'rule_created', 'entity_created')
      AND NOT knowledge_reaches(
        $2, coalesce(c.payload ->> 'scope', c.payload ->> 'butler', ''), c.payload ->> 'reader', c.user_id, false))
ORDER BY v.created_at DESC, v.seq DESC LIMIT $5;

-- name: events_of_memory
-- What became of a memory, oldest first; links to memories of another user are left out.
SELECT v.id, v.event_type, v.actor, v.memory_type, v.memory_id, v.request_id, v.payload, v.created_at
FROM knowledge_events AS v
WHERE v.tenant_id = $1 AND v.memory_id = $3 AND v.memory_type = $4
  AND knowledge_reaches($2, coalesce(v.payload ->> 'scope', v.payload ->> 'butler', ''), v.payload ->> 'reader', v.user_id, false)
  AND NOT EXISTS (SELECT FROM knowledge_events AS c
    WHERE c.tenant_id = $1 AND c.memory_id IN (v.memory_id, (v.payload ->> 'target_id')::uuid)
      AND c.event_type IN ('episode_created', 'fact_created', 'rule_created')
      AND NOT knowledge_reaches(
        $2, coalesce(c.payload ->> 'scope', c.payload ->> 'butler', ''), c.payload ->> 'reader', c.user_id, false))
ORDER BY v.created_at, v.seq LIMIT $5;

-- name: supersession_chain
-- The facts that a fact superseded, one after the other, and those that superseded it; the fact is among them.
WITH RECURSIVE before AS (
  SELECT f.id, f.supersedes_id, 0 AS step FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = $3
  UNION ALL
  SELECT f.id, f.supersedes_id, b.step - 1 FROM before AS b
  JOIN knowledge_facts AS f ON f.tenant_id = $1 AND f.id = b.supersedes_id
  WHERE b.step > -$4::int
), after AS (
  SELECT f.id, 0 AS step FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = $3
  UNION ALL
  SELECT f.id, a.step + 1 FROM after AS a
  JOIN knowledge_facts AS f ON f.tenant_id = $1 AND f.supersedes_id = a.id
  WHERE a.step < $4::int
), chain AS (
  SELECT id, min(step) AS step FROM (SELECT id, step FROM before UNION ALL SELECT id, step FROM after) AS s GROUP BY id
)
SELECT f.id, f.tenant_id, f.content, f.reference_count, f.created_at, f.last_referenced_at, f.metadata,
  f.embedding_version, f.user_id, f.shared, f.subject, f.predicate, f.importance, f.confidence, f.decay_rate, f.permanence, f.source_butler,
  f.source_episode_id, f.supersedes_id, f.entity_id, f.validity, f.scope, f.last_confirmed_at, f.tags
FROM chain AS c JOIN knowledge_facts AS f ON f.tenant_id = $1 AND f.id = c.id
WHERE knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
ORDER BY c.step, f.created_at, f.id;

-- name: links_of_memory
-- The links of a memory: those that lead from it ($5), to it ($6), or both; `missing` when the other end is gone. Those
-- to a memory of another user are left out.
WITH found AS (
  SELECT l.source_type, l.source_id, l.target_type, l.target_id, l.relation, l.created_at,
    l.target_type AS other_type, l.target_id AS other_id
  FROM knowledge_links AS l WHERE $5::boolean AND l.tenant_id = $1 AND l.source_type = $3 AND l.source_id = $4
  UNION ALL
  SELECT l.source_type, l.source_id, l.target_type, l.target_id, l.relation, l.created_at, l.source_type, l.source_id
  FROM knowledge_links AS l WHERE $6::boolean AND l.tenant_id = $1 AND l.target_type = $3 AND l.target_id = $4
)
SELECT n.source_type, n.source_id, n.target_type, n.target_id, n.relation, n.created_at, o.is_reached IS NULL AS missing
FROM found AS n LEFT JOIN LATERAL (
  SELECT knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AS is_reached FROM knowledge_episodes AS e
  WHERE n.other_type = 'episode' AND e.tenant_id = $1 AND e.id = n.other_id
  UNION ALL
  SELECT knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) FROM knowledge_facts AS f
  WHERE n.other_type = 'fact' AND f.tenant_id = $1 AND f.id = n.other_id
  UNION ALL
  SELECT knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) FROM knowledge_rules AS r
  WHERE n.other_type = 'rule' AND r.tenant_id = $1 AND r.id = n.other_id
) AS o ON true
WHERE o.is_reached IS NOT FALSE
ORDER BY n.created_at, n.source_id, n.target_id LIMIT $7;

-- name: is_there
-- Whether there is such a memory for whom asks.
SELECT EXISTS (
  SELECT FROM knowledge_episodes AS e
  WHERE $3 = 'episode' AND e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = $4
  UNION ALL
  SELECT FROM knowledge_facts AS f
  WHERE $3 = 'fact' AND f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = $4
  UNION ALL
  SELECT FROM knowledge_rules AS r
  WHERE $3 = 'rule' AND r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = $4
);
