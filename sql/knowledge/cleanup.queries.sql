-- The cleanup of episodes. One that is expired goes in any state, unless it is being consolidated. Who asks cleans up what
-- it reaches: $3 is its own scope, and null reaches all.

-- name: tenants_with_episodes
-- Who has episodes: each tenant is looked up once, by the index.
WITH RECURSIVE t AS (
  (SELECT e.tenant_id FROM knowledge_episodes AS e ORDER BY e.tenant_id LIMIT 1)
  UNION ALL
  SELECT (SELECT e.tenant_id FROM knowledge_episodes AS e WHERE e.tenant_id > t.tenant_id ORDER BY e.tenant_id LIMIT 1)
  FROM t WHERE t.tenant_id IS NOT NULL
)
SELECT t.tenant_id FROM t WHERE t.tenant_id IS NOT NULL;

-- name: delete_expired_episodes
-- Deletes up to $4 episodes whose time was over before $2.
WITH due AS MATERIALIZED (
  SELECT e.id FROM knowledge_episodes AS e
  WHERE e.tenant_id = $1 AND ($3::text[] IS NULL OR knowledge_reaches($3, e.butler, NULL, e.user_id, e.shared))
    AND e.expires_at < $2 AND (e.leased_until IS NULL OR e.leased_until <= $2)
  ORDER BY e.expires_at LIMIT $4
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM knowledge_episodes AS e WHERE e.tenant_id = $1 AND e.id = ANY (ARRAY(SELECT d.id FROM due AS d))
  RETURNING e.id, e.consolidation_status
)
INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at)
SELECT 'episode_deleted', $5, $1, 'episode', g.id, $6,
  jsonb_build_object('why', 'expired', 'consolidation_status', g.consolidation_status), $2
FROM gone AS g
RETURNING memory_id;

-- name: last_episode_too_many
-- The last of the consolidated episodes that are to go so that $4 stay, the oldest first; none when there are not more.
-- It is the same one however many of them are gone already.
WITH kept AS MATERIALIZED (
  SELECT count(*) AS episodes FROM knowledge_episodes AS e
  WHERE e.tenant_id = $1 AND ($3::text[] IS NULL OR knowledge_reaches($3, e.butler, NULL, e.user_id, e.shared))
    AND (e.expires_at IS NULL OR e.expires_at >= $2 OR (e.leased_until IS NOT NULL AND e.leased_until > $2))
), surplus AS MATERIALIZED (
  SELECT e.created_at, e.id FROM knowledge_episodes AS e
  WHERE e.tenant_id = $1 AND ($3::text[] IS NULL OR knowledge_reaches($3, e.butler, NULL, e.user_id, e.shared))
    AND e.consolidated AND (e.expires_at IS NULL OR e.expires_at >= $2)
  ORDER BY e.created_at, e.id LIMIT greatest(0, (SELECT k.episodes FROM kept AS k) - $4)
)
SELECT s.created_at, s.id FROM surplus AS s ORDER BY s.created_at DESC, s.id DESC LIMIT 1;

-- name: delete_consolidated_episodes
-- Deletes up to $4 of the consolidated episodes up to the one that was made at $7 and has the id $8.
WITH due AS MATERIALIZED (
  SELECT e.id FROM knowledge_episodes AS e
  WHERE e.tenant_id = $1 AND ($3::text[] IS NULL OR knowledge_reaches($3, e.butler, NULL, e.user_id, e.shared))
    AND e.consolidated AND (e.created_at, e.id) <= ($7, $8)
  ORDER BY e.created_at, e.id LIMIT $4
  FOR UPDATE SKIP LOCKED
), gone AS (
  DELETE FROM knowledge_episodes AS e WHERE e.tenant_id = $1 AND e.id = ANY (ARRAY(SELECT d.id FROM due AS d))
  RETURNING e.id, e.consolidation_status
)
INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at)
SELECT 'episode_deleted', $5, $1, 'episode', g.id, $6,
  jsonb_build_object('why', 'capacity', 'consolidation_status', g.consolidation_status), $2
FROM gone AS g
RETURNING memory_id;

-- name: count_episodes
-- How many episodes a tenant has; $2 is the scope of who asks, null for all.
SELECT count(*) FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND ($2::text[] IS NULL OR knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared));
