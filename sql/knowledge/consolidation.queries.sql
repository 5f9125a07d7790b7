-- How episodes become facts and rules. A shard is what an agent of a tenant has of a user, or of nobody.

-- name: pending_shards
-- The shards that have episodes to consolidate, with how many; of a tenant ($1), or of all: what whom asks reaches ($3),
-- or null for all.
SELECT e.tenant_id, e.butler, e.user_id, count(*) AS episodes FROM knowledge_episodes AS e
WHERE e.consolidation_status = 'pending' AND e.expires_at > $2 AND ($1::text IS NULL OR e.tenant_id = $1)
  AND ($3::text[] IS NULL OR knowledge_reaches($3, e.butler, NULL, e.user_id, false))
GROUP BY e.tenant_id, e.butler, e.user_id ORDER BY e.tenant_id, e.butler, e.user_id;

-- name: lock_shard
-- Lets one process at a time look for the next batch of a shard.
SELECT pg_advisory_xact_lock($1);

-- name: next_batch
-- The first episodes of a shard that wait, in their order, up to $5; none while a batch of it is leased, and no further
-- than the first one that is put off.
SELECT e.id, e.content, e.created_at, e.retry_count, e.available_at FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND e.butler = $2 AND coalesce(e.user_id, '') = coalesce($3, '')
  AND e.consolidation_status = 'pending' AND e.expires_at > $4
  AND NOT EXISTS (
    SELECT FROM knowledge_episodes AS o
    WHERE o.tenant_id = $1 AND o.butler = $2 AND coalesce(o.user_id, '') = coalesce($3, '') AND o.lease IS NOT NULL
      AND o.leased_until > $4
  )
ORDER BY e.created_at, e.id LIMIT $5;

-- name: lease_episodes
-- Leases episodes.
UPDATE knowledge_episodes AS e SET lease = $2, leased_until = $3 WHERE e.tenant_id = $1 AND e.id = ANY ($4::uuid[]);

-- name: hold_leased
-- Which of some episodes ($3) of a lease are still those of it, locked.
SELECT e.id FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND e.lease = $2 AND e.id = ANY ($3::uuid[]) AND e.consolidation_status = 'pending'
ORDER BY e.id FOR UPDATE OF e;

-- name: renew_lease
-- Leases what is left of a lease for longer; tells of which episodes that is.
UPDATE knowledge_episodes AS e SET leased_until = $3
WHERE e.tenant_id = $1 AND e.lease = $2 AND e.consolidation_status = 'pending' RETURNING e.id;

-- name: shown_facts
-- The newest active facts that a shard ($2 the agent, $3 the user or null) is shown: what is global or the agent's, and
-- what the agent has of the user; nothing of other users.
SELECT f.id, f.subject, f.predicate, f.content, f.scope, f.user_id, f.entity_id, f.permanence FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_is_of(f.scope, f.reader, $2) AND f.validity = 'active'
  AND (f.user_id IS NULL OR f.shared OR f.user_id = $3::text)
ORDER BY f.created_at DESC, f.id LIMIT $4;

-- name: shown_rules
-- The newest rules that a shard is shown, as of facts.
SELECT r.id, r.content FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_is_of(r.scope, r.reader, $2)
  AND (r.user_id IS NULL OR r.shared OR r.user_id = $3::text)
  AND coalesce((r.metadata -> 'forgotten')::boolean, false) = false
ORDER BY r.created_at DESC, r.id LIMIT $4;

-- name: link_to_episodes
-- Links what came of episodes to each of them.
INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT $1, $2, s.id, 'episode', t.id, 'derived_from', $3
FROM unnest($4::uuid[]) AS s (id) CROSS JOIN unnest($5::uuid[]) AS t (id)
ON CONFLICT DO NOTHING;

-- name: target_of_update
-- The active fact that is to be updated, locked.
SELECT f.id, f.subject, f.predicate, f.scope, f.entity_id, f.permanence, f.importance, f.tags
FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = $2 AND f.validity = 'active' FOR UPDATE OF f;

-- name: confirm_shown
-- Confirms active facts and rules that are not forgotten, which are not fading any more; tells which.
WITH facts AS (
  UPDATE knowledge_facts AS f SET last_confirmed_at = $2, metadata = f.metadata - 'status'
  WHERE f.tenant_id = $1 AND f.id = ANY ($3::uuid[]) AND f.validity = 'active'
  RETURNING f.id
), rules AS (
  UPDATE knowledge_rules AS r SET last_confirmed_at = $2, metadata = r.metadata - 'status'
  WHERE r.tenant_id = $1 AND r.id = ANY ($3::uuid[])
    AND coalesce((r.metadata -> 'forgotten')::boolean, false) = false
  RETURNING r.id
)
SELECT 'fact' AS kind, id FROM facts UNION ALL SELECT 'rule', id FROM rules;

-- name: end_consolidated
-- Ends episodes that are consolidated.
UPDATE knowledge_episodes AS e
SET consolidated = true, consolidation_status = 'consolidated', last_error = NULL, available_at = NULL, lease = NULL,
  leased_until = NULL
WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[]);

-- name: fail_leased
-- Puts an episode ($7) of a lease off after a failure, or gives it up when it failed $5 times; tells how.
UPDATE knowledge_episodes AS e
SET retry_count = e.retry_count + 1, last_error = $3, lease = NULL, leased_until = NULL,
  available_at = $4::timestamptz + least(
    $6::double precision * 2 ^ least(e.retry_count, 30), 21600) * interval '1 second',
  consolidation_status = CASE WHEN e.retry_count + 1 >= $5 THEN 'dead_letter' ELSE 'pending' END
WHERE e.tenant_id = $1 AND e.lease = $2 AND e.id = $7 AND e.consolidation_status = 'pending'
RETURNING e.id, e.retry_count, e.consolidation_status;

-- name: release_leased
-- Gives the episodes of a lease back untouched.
UPDATE knowledge_episodes AS e SET lease = NULL, leased_until = NULL WHERE e.tenant_id = $1 AND e.lease = $2;

-- name: requeue_episodes
-- Has episodes that were given up tried again: of a tenant ($1) or of all, one ($2) or all of them.
UPDATE knowledge_episodes AS e
SET consolidation_status = 'pending', retry_count = 0, available_at = NULL, last_error = NULL
WHERE e.consolidation_status = 'dead_letter' AND ($1::text IS NULL OR e.tenant_id = $1)
  AND ($2::uuid IS NULL OR e.id = $2)
RETURNING e.tenant_id, e.id;

-- name: list_dead_letters
-- A page of episodes that were given up, newest first, behind a place; of a tenant ($1) or of all.
SELECT e.id, e.tenant_id, e.butler, e.retry_count, e.last_error, e.created_at FROM knowledge_episodes AS e
WHERE e.consolidation_status = 'dead_letter' AND ($1::text IS NULL OR e.tenant_id = $1)
  AND (e.created_at, e.id) < ($2, $3)
ORDER BY e.created_at DESC, e.id DESC LIMIT $4;

-- name: list_episode_jobs
-- A page of episodes whose consolidation failed, in these states ($1), newest first, behind a moment and an id ($2, $3): of a
-- tenant ($4), or of all.
SELECT e.id, j.state, e.tenant_id, 'episode' AS subject_kind, e.id::text AS subject_id, e.retry_count AS attempts,
  e.last_error, e.created_at, e.created_at AS updated_at
FROM knowledge_episodes AS e
CROSS JOIN LATERAL (SELECT CASE e.consolidation_status
  WHEN 'pending' THEN 'FAILED' WHEN 'dead_letter' THEN 'GIVEN_UP' ELSE 'DISCARDED' END AS state) AS j
WHERE (e.consolidation_status = 'dead_letter' OR e.consolidation_status = 'discarded'
    OR e.consolidation_status = 'pending' AND e.retry_count > 0)
  AND j.state = ANY ($1::text[]) AND (e.created_at, e.id) < ($2::timestamptz, $3::uuid)
  AND ($4::text IS NULL OR e.tenant_id = $4)
ORDER BY e.created_at DESC, e.id DESC LIMIT $5;

-- name: count_episode_jobs
-- How many episodes there are whose consolidation failed, by state: of a tenant ($1), or of all.
SELECT CASE e.consolidation_status
  WHEN 'pending' THEN 'FAILED' WHEN 'dead_letter' THEN 'GIVEN_UP' ELSE 'DISCARDED' END AS state, count(*) AS jobs
FROM knowledge_episodes AS e
WHERE (e.consolidation_status = 'dead_letter' OR e.consolidation_status = 'discarded'
    OR e.consolidation_status = 'pending' AND e.retry_count > 0)
  AND ($1::text IS NULL OR e.tenant_id = $1)
GROUP BY e.consolidation_status;

-- name: decide_on_episodes
-- Has episodes ($1) that were given up tried again ($3 is pending), or not (discarded): of a tenant ($2), or of all.
UPDATE knowledge_episodes AS e
SET consolidation_status = $3::text, retry_count = CASE WHEN $3 = 'pending' THEN 0 ELSE e.retry_count END, available_at = NULL
WHERE e.id = ANY ($1::uuid[]) AND e.consolidation_status = 'dead_letter' AND ($2::text IS NULL OR e.tenant_id = $2)
RETURNING e.tenant_id, e.id;
