-- All that there is of a subject, to be erased or taken along. $1 is the tenant. Where $2 is null it is all of the tenant;
-- else it is what is in the scope $2 or, of episodes, of the agent of that name, what is of the user $3 (or null), what the
-- agent reads in scopes of users, and facts and rules that rest on nothing but episodes of the subject, as far as their
-- sources are still there.

-- name: lock_episodes_of_subject
-- Up to $4 episodes, locked: nothing is said to be from them any more.
SELECT e.id FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND (e.butler = $2 OR e.user_id = $3::text)
ORDER BY e.id LIMIT $4 FOR UPDATE OF e;

-- name: episodes_of_subject
-- The ids of up to $5 episodes behind an id ($4).
SELECT e.id FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND e.id > $4 AND ($2::text IS NULL OR e.butler = $2 OR e.user_id = $3::text)
ORDER BY e.id LIMIT $5;

-- name: facts_of_subject
-- The ids of up to $5 facts behind an id ($4).
SELECT f.id FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND f.id > $4 AND ($2::text IS NULL OR f.scope = $2 OR f.user_id = $3::text OR f.reader = $2
  OR (f.scope NOT LIKE 'user:%' AND (
    SELECT bool_and(e.butler = $2 OR coalesce(e.user_id = $3, false)) FROM knowledge_episodes AS e
    WHERE e.tenant_id = $1 AND e.id IN (
      SELECT f.source_episode_id
      UNION ALL
      SELECT l.target_id FROM knowledge_links AS l
      WHERE l.tenant_id = $1 AND l.source_type = 'fact' AND l.source_id = f.id AND l.target_type = 'episode'
        AND l.relation = 'derived_from'))))
ORDER BY f.id LIMIT $5;

-- name: rules_of_subject
-- The ids of up to $5 rules behind an id ($4).
SELECT r.id FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND r.id > $4 AND ($2::text IS NULL OR r.scope = $2 OR r.user_id = $3::text OR r.reader = $2
  OR (r.scope NOT LIKE 'user:%' AND (
    SELECT bool_and(e.butler = $2 OR coalesce(e.user_id = $3, false)) FROM knowledge_episodes AS e
    WHERE e.tenant_id = $1 AND e.id IN (
      SELECT r.source_episode_id
      UNION ALL
      SELECT l.target_id FROM knowledge_links AS l
      WHERE l.tenant_id = $1 AND l.source_type = 'rule' AND l.source_id = r.id AND l.target_type = 'episode'
        AND l.relation = 'derived_from'))))
ORDER BY r.id LIMIT $5;

-- name: entities_of_facts
-- Whom facts are about.
SELECT DISTINCT f.entity_id FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) AND f.entity_id IS NOT NULL;

-- name: entities_made_by
-- The entities that somebody made.
SELECT DISTINCT v.memory_id AS entity_id FROM knowledge_events AS v
WHERE v.tenant_id = $1 AND v.event_type = 'entity_created' AND v.actor = ANY ($2::text[]);

-- name: unname_entities
-- Says of entities of a user ($2) that stay no longer whose they are.
UPDATE knowledge_entities AS e SET user_id = NULL WHERE e.tenant_id = $1 AND e.user_id = $2;

-- name: erase_lonely_entities
-- Removes those of entities that no fact is about, with what was merged into them.
WITH RECURSIVE gone AS (
  SELECT e.id FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[])
    AND NOT EXISTS (SELECT FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.entity_id = e.id)
  UNION
  SELECT e.id FROM gone AS g JOIN knowledge_entities AS e ON e.tenant_id = $1 AND e.metadata ->> 'merged_into' = g.id::text
)
DELETE FROM knowledge_entities AS e USING gone AS g WHERE e.tenant_id = $1 AND e.id = g.id RETURNING e.id;

-- name: unsign_memories
-- Takes a name ($2) off facts and rules that stay.
WITH facts AS (
  UPDATE knowledge_facts AS f SET source_butler = NULL WHERE f.tenant_id = $1 AND f.source_butler = $2
)
UPDATE knowledge_rules AS r SET source_butler = NULL WHERE r.tenant_id = $1 AND r.source_butler = $2;

-- name: unsign_events
-- Takes out of events what they tell of a scope ($2), and of those of somebody ($3) who it was.
UPDATE knowledge_events AS v
SET actor = CASE WHEN v.actor <> ALL ($3::text[]) THEN v.actor END,
  user_id = CASE WHEN v.user_id <> ALL ($3::text[]) THEN v.user_id END,
  request_id = NULL,
  payload = CASE WHEN v.payload ->> 'scope' = $2 OR v.payload ->> 'butler' = $2 THEN '{}' ELSE v.payload END
WHERE v.tenant_id = $1 AND (v.actor = ANY ($3::text[]) OR v.user_id = ANY ($3) OR v.payload ->> 'scope' = $2
  OR v.payload ->> 'butler' = $2);

-- name: erase_applications_by
-- Removes what somebody told of applying rules that stay, and the reasons among it that a rule still has.
WITH said AS (
  DELETE FROM knowledge_rule_applications AS a WHERE a.tenant_id = $1 AND a.actor = ANY ($2::text[])
  RETURNING a.rule_id, a.reason
), reasons AS (
  SELECT s.rule_id, array_agg(s.reason) AS said FROM said AS s WHERE s.reason IS NOT NULL GROUP BY s.rule_id
)
UPDATE knowledge_rules AS r SET metadata = r.metadata || jsonb_build_object('harmful_reasons', (
  SELECT coalesce(jsonb_agg(h.reason ORDER BY h.place), '[]')
  FROM jsonb_array_elements(r.metadata -> 'harmful_reasons') WITH ORDINALITY AS h (reason, place)
  WHERE h.reason #>> '{}' <> ALL (s.said)
))
FROM reasons AS s
WHERE r.tenant_id = $1 AND r.id = s.rule_id AND jsonb_typeof(r.metadata -> 'harmful_reasons') = 'array'
RETURNING r.id, r.maturity, r.metadata ->> 'original_content' AS original, r.metadata -> 'harmful_reasons' AS reasons;

-- name: reword_rule
-- Gives a rule another content, and makes a job for its vector. What was given up of its former content is forgotten.
WITH job AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind) VALUES ($1, 'rule', $2, 'vector')
), ended AS (
  DELETE FROM knowledge_outbox AS b
  WHERE b.tenant_id = $1 AND b.memory_id = $2 AND b.status IN ('GIVEN_UP', 'DISCARDED')
)
UPDATE knowledge_rules AS r
SET content = $3, search_vector = to_tsvector('english', $4::text), embedding = NULL, embedding_version = NULL
WHERE r.tenant_id = $1 AND r.id = $2;

-- name: unname_in_metadata
-- Takes out of the metadata of what stays whatever names a user: one of $2, anywhere below a key. What is the user's own
-- keeps the name: it is still to be erased, and found by it.
WITH episodes AS (
  UPDATE knowledge_episodes AS e SET metadata = (
    SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}') FROM jsonb_each(e.metadata) AS m
    WHERE NOT jsonb_path_exists(m.value, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[])))
  WHERE e.tenant_id = $1 AND (e.user_id = ANY ($2)) IS NOT TRUE
    AND jsonb_path_exists(e.metadata, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[]))
), facts AS (
  UPDATE knowledge_facts AS f SET metadata = (
    SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}') FROM jsonb_each(f.metadata) AS m
    WHERE NOT jsonb_path_exists(m.value, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[])))
  WHERE f.tenant_id = $1 AND (f.user_id = ANY ($2)) IS NOT TRUE
    AND jsonb_path_exists(f.metadata, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[]))
), rules AS (
  UPDATE knowledge_rules AS r SET metadata = (
    SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}') FROM jsonb_each(r.metadata) AS m
    WHERE NOT jsonb_path_exists(m.value, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[])))
  WHERE r.tenant_id = $1 AND (r.user_id = ANY ($2)) IS NOT TRUE
    AND jsonb_path_exists(r.metadata, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[]))
)
UPDATE knowledge_entities AS n SET metadata = (
  SELECT coalesce(jsonb_object_agg(m.key, m.value), '{}') FROM jsonb_each(n.metadata) AS m
  WHERE NOT jsonb_path_exists(m.value, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[])))
WHERE n.tenant_id = $1 AND jsonb_path_exists(n.metadata, '$.** ? (@ == $names[*])', jsonb_build_object('names', $2::text[]));

-- name: erase_searches
-- Removes what is kept of the searches of a scope, or of the tenant ($2 is null), of those on their way into the traces,
-- too. Tells how many.
WITH waiting AS (
  DELETE FROM search_trace_outbox AS o
  WHERE o.payload ->> 'family' = 'knowledge' AND o.payload ->> 'tenant_id' = $1
    AND ($2::text IS NULL OR o.payload ->> 'agent_id' = $2 OR o.payload -> 'allowed_scopes' ? $2)
  RETURNING 1
), traces AS (
  DELETE FROM search_traces AS t
  WHERE t.tenant_id = $1 AND t.family = 'knowledge' 
    AND ($2 IS NULL OR t.agent_id = $2 OR t.allowed_scopes ? $2)
  RETURNING 1
)
SELECT (SELECT count(*) FROM waiting) + (SELECT count(*) FROM traces);

-- name: erase_rest_of_tenant
-- Removes what tells of a tenant when its memories are gone: events, links and jobs. Tells how many.
WITH events AS (
  DELETE FROM knowledge_events AS v WHERE v.tenant_id = $1 RETURNING 1
), links AS (
  DELETE FROM knowledge_links AS l WHERE l.tenant_id = $1 RETURNING 1
), jobs AS (
  DELETE FROM knowledge_outbox AS b WHERE b.tenant_id = $1 RETURNING 1
)
SELECT (SELECT count(*) FROM events) AS events, (SELECT count(*) FROM links) AS links,
  (SELECT count(*) FROM jobs) AS jobs;

-- name: erase_knowledge_chore_runs
-- Removes what tells of the chores of a tenant, or of the consolidation of one agent of it ($2), or of a user ($3).
DELETE FROM chore_runs AS c
WHERE c.family = 'knowledge' AND CASE
  WHEN c.chore <> 'consolidation' THEN $2::text IS NULL AND c.subject = $1
  ELSE c.subject::jsonb ->> 0 = $1 AND ($2 IS NULL OR c.subject::jsonb ->> 1 = $2 OR c.subject::jsonb ->> 2 = $3::text) END
RETURNING 1;

-- name: export_episodes
-- Episodes ($2).
SELECT e.id, e.butler, e.session_id, e.content, e.importance, e.reference_count, e.consolidated, e.consolidation_status,
  e.retry_count, e.last_error, e.available_at, e.created_at, e.last_referenced_at, e.expires_at, e.metadata,
  e.idempotency_key, e.request_digest, e.user_id, e.shared
FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[]) ORDER BY e.id;

-- name: export_entities
-- Entities: those of $2, with all that were merged into them.
WITH RECURSIVE told AS (
  SELECT e.id FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[])
  UNION
  SELECT e.id FROM told AS t JOIN knowledge_entities AS e ON e.tenant_id = $1 AND e.metadata ->> 'merged_into' = t.id::text
)
SELECT e.id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at,
  e.user_id
FROM told AS t JOIN knowledge_entities AS e ON e.tenant_id = $1 AND e.id = t.id ORDER BY e.id;

-- name: export_entities_of_tenant
-- Up to $3 entities behind an id ($2).
SELECT e.id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at,
  e.user_id
FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND e.id > $2 ORDER BY e.id LIMIT $3;

-- name: export_facts
-- Facts ($2), each with its source as far as that is among the episodes of the subject ($3 its scope, $4 its user), and
-- with the name of whom it is about.
SELECT f.id, f.subject, f.predicate, f.content, f.importance, f.confidence, f.decay_rate, f.permanence, f.source_butler,
  s.id AS source_episode_id, f.entity_id, n.canonical_name AS entity_name, n.entity_type, f.validity, f.scope,
  f.reference_count, f.created_at, f.last_referenced_at, f.last_confirmed_at, f.tags, f.metadata, f.idempotency_key,
  f.request_digest, f.user_id, f.shared, f.reader
FROM knowledge_facts AS f
LEFT JOIN knowledge_entities AS n ON n.tenant_id = $1 AND n.id = f.entity_id
LEFT JOIN knowledge_episodes AS s ON s.tenant_id = $1 AND s.id = f.source_episode_id AND ($3::text IS NULL
  OR s.butler = $3 OR s.user_id = $4::text)
WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) ORDER BY f.id;

-- name: export_rules
-- Rules ($2), each with its source as far as that is among the episodes of the subject ($3 its scope, $4 its user).
SELECT r.id, r.content, r.scope, r.maturity, r.confidence, r.decay_rate, r.permanence, r.effectiveness_score,
  r.applied_count, r.success_count, r.harmful_count, s.id AS source_episode_id, r.source_butler, r.created_at,
  r.last_applied_at, r.last_evaluated_at, r.last_confirmed_at, r.reference_count, r.last_referenced_at, r.tags, r.metadata,
  r.idempotency_key, r.request_digest, r.user_id, r.shared, r.reader
FROM knowledge_rules AS r
LEFT JOIN knowledge_episodes AS s ON s.tenant_id = $1 AND s.id = r.source_episode_id AND ($3::text IS NULL
  OR s.butler = $3 OR s.user_id = $4::text)
WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) ORDER BY r.id;

-- name: export_supersessions
-- Which facts some facts ($2) took the place of.
SELECT f.id, f.supersedes_id FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) AND f.supersedes_id IS NOT NULL ORDER BY f.id;

-- name: export_applications
-- What came of applying rules ($2).
SELECT a.id, a.rule_id, a.outcome, a.context, a.reason, a.actor, a.created_at FROM knowledge_rule_applications AS a
WHERE a.tenant_id = $1 AND a.rule_id = ANY ($2::uuid[]) ORDER BY a.rule_id, a.created_at, a.id;

-- name: export_links
-- The links that lead from memories ($2).
SELECT l.source_type, l.source_id, l.target_type, l.target_id, l.relation, l.created_at FROM knowledge_links AS l
WHERE l.tenant_id = $1 AND l.source_type = $3 AND l.source_id = ANY ($2::uuid[])
ORDER BY l.source_id, l.target_type, l.target_id;

-- name: export_events
-- What became of memories ($2).
SELECT v.id, v.event_type, v.actor, v.memory_type, v.memory_id, v.request_id, v.payload, v.created_at, v.user_id
FROM knowledge_events AS v WHERE v.tenant_id = $1 AND v.memory_id = ANY ($2::uuid[]) ORDER BY v.memory_id, v.seq;

-- name: export_events_of_tenant
-- Up to $3 events behind a place ($2).
SELECT v.id, v.event_type, v.actor, v.memory_type, v.memory_id, v.request_id, v.payload, v.created_at, v.user_id,
  v.seq
FROM knowledge_events AS v WHERE v.tenant_id = $1 AND v.seq > $2 ORDER BY v.seq LIMIT $3;
