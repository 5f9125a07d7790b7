-- How memories are confirmed, forgotten and judged. Each is locked before it is looked at.

-- name: lock_fact
-- A fact, for whoever is about to change its state.
SELECT f.validity, f.metadata ->> 'status' IS NOT DISTINCT FROM 'fading' AS is_fading
FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = $3
FOR NO KEY UPDATE;

-- name: confirm_fact
-- Begins the decay of a fact anew. What another confirmed a moment later stays so.
UPDATE knowledge_facts AS f
SET last_confirmed_at = greatest(f.last_confirmed_at, $3), metadata = f.metadata - 'status'
WHERE f.tenant_id = $1 AND f.id = $2;

-- name: retract_fact
-- Makes a fact one that was never to be told.
UPDATE knowledge_facts AS f SET validity = 'retracted', metadata = f.metadata - 'status'
WHERE f.tenant_id = $1 AND f.id = $2;

-- name: lock_rule
-- A rule, for whoever is about to change its state.
SELECT
  r.maturity, r.applied_count, r.success_count, r.harmful_count, r.created_at,
  r.metadata ->> 'status' IS NOT DISTINCT FROM 'fading' AS is_fading,
  r.metadata -> 'forgotten' IS NOT DISTINCT FROM 'true' AS is_forgotten,
  r.metadata -> 'needs_inversion' IS NOT DISTINCT FROM 'true' AS needs_inversion,
  r.user_id
FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = $3
FOR NO KEY UPDATE;

-- name: confirm_rule
-- Begins the decay of a rule anew. What another confirmed a moment later stays so.
UPDATE knowledge_rules AS r
SET last_confirmed_at = greatest(r.last_confirmed_at, $3), metadata = r.metadata - 'status'
WHERE r.tenant_id = $1 AND r.id = $2;

-- name: forget_rule
-- Makes a rule one that nobody is given any more.
UPDATE knowledge_rules AS r SET metadata = r.metadata - 'status' || '{"forgotten": true}'
WHERE r.tenant_id = $1 AND r.id = $2;

-- name: lock_episode
-- An episode, for whoever is about to change its state.
SELECT e.consolidation_status, e.expires_at
FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = $3
FOR NO KEY UPDATE;

-- name: expire_episode
-- Ends the time of an episode, and takes it out of the batch that is consolidated now.
UPDATE knowledge_episodes AS e SET expires_at = least(e.expires_at, $3), lease = NULL, leased_until = NULL
WHERE e.tenant_id = $1 AND e.id = $2;

-- name: mark_rule
-- Writes what a mark made of a rule that is locked, and keeps the mark. Of harm, the newest reasons of $12 bytes of JSON stay
-- with the rule and the others are counted there, $15 says whether this one is among them, and a job is made where the rule is to be inverted and there is none.
WITH applied AS (
  INSERT INTO knowledge_rule_applications (tenant_id, rule_id, outcome, context, reason, actor, created_at)
  VALUES ($1, $2, $9, $10, $11, $13, $3)
), job AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT $1, 'rule', $2, 'inversion' WHERE $14::boolean
)
UPDATE knowledge_rules AS r
SET applied_count = $4, success_count = $5, harmful_count = $6, effectiveness_score = $7, maturity = $8,
  last_applied_at = greatest(r.last_applied_at, $3), last_evaluated_at = greatest(r.last_evaluated_at, $3),
  metadata = r.metadata
    || CASE WHEN $11::text IS NULL OR NOT $15::boolean THEN '{}' ELSE (
      SELECT jsonb_build_object('harmful_reasons', k.reasons) || CASE WHEN k.dropped = 0 THEN '{}' ELSE
        jsonb_build_object('harmful_reasons_dropped',
          coalesce((r.metadata -> 'harmful_reasons_dropped')::bigint, 0) + k.dropped) END
      FROM (
        SELECT jsonb_agg(sized.reason ORDER BY sized.place) FILTER (WHERE sized.bytes <= $12) AS reasons,
          count(*) FILTER (WHERE sized.bytes > $12) AS dropped
        FROM (
          SELECT said.reason, said.place, sum(octet_length(said.reason::text) + 2) OVER (ORDER BY said.place DESC) AS bytes
          FROM jsonb_array_elements(coalesce(r.metadata -> 'harmful_reasons', '[]') || to_jsonb($11::text))
            WITH ORDINALITY AS said (reason, place)
        ) AS sized
      ) AS k) END
    || CASE WHEN $14 THEN '{"needs_inversion": true}' ELSE '{}'::jsonb END
WHERE r.tenant_id = $1 AND r.id = $2
RETURNING
  r.id, r.tenant_id, r.content, r.reference_count, r.created_at, r.last_referenced_at, r.metadata, r.embedding_version, r.user_id, r.shared,
  r.scope, r.maturity, r.confidence, r.decay_rate, r.permanence, r.effectiveness_score, r.applied_count,
  r.success_count, r.harmful_count, r.source_episode_id, r.source_butler, r.last_applied_at, r.last_evaluated_at,
  r.last_confirmed_at, r.tags;
