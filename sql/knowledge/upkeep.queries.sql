-- Moving memories to another model, removing them for good, and sharing them.

-- name: count_outdated
-- How many memories have no vector of this model; of a tenant ($1), or of all. What is forgotten needs none.
SELECT 'episode' AS kind, count(*) AS memories FROM knowledge_episodes AS e
WHERE ($1::text IS NULL OR e.tenant_id = $1) AND e.embedding_version IS DISTINCT FROM $2
UNION ALL
SELECT 'fact', count(*) FROM knowledge_facts AS f
WHERE ($1::text IS NULL OR f.tenant_id = $1) AND f.embedding_version IS DISTINCT FROM $2 AND f.validity <> 'retracted'
UNION ALL
SELECT 'rule', count(*) FROM knowledge_rules AS r
WHERE ($1::text IS NULL OR r.tenant_id = $1) AND r.embedding_version IS DISTINCT FROM $2
  AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true';

-- name: enqueue_outdated
-- Makes jobs for memories without a vector of this model ($2), up to $4 behind an id ($3), and tells the last id and how
-- many were looked at. A memory that has an open job, or one that was given up or discarded, gets no other.
WITH outdated AS (
  SELECT o.tenant_id, o.kind, o.id FROM (
    (SELECT e.tenant_id, 'episode' AS kind, e.id FROM knowledge_episodes AS e
     WHERE ($1::text IS NULL OR e.tenant_id = $1) AND e.embedding_version IS DISTINCT FROM $2 AND e.id > $3
     ORDER BY e.id LIMIT $4)
    UNION ALL
    (SELECT f.tenant_id, 'fact', f.id FROM knowledge_facts AS f
     WHERE ($1::text IS NULL OR f.tenant_id = $1) AND f.embedding_version IS DISTINCT FROM $2
       AND f.validity <> 'retracted' AND f.id > $3
     ORDER BY f.id LIMIT $4)
    UNION ALL
    (SELECT r.tenant_id, 'rule', r.id FROM knowledge_rules AS r
     WHERE ($1::text IS NULL OR r.tenant_id = $1) AND r.embedding_version IS DISTINCT FROM $2
       AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true' AND r.id > $3
     ORDER BY r.id LIMIT $4)
  ) AS o ORDER BY o.id LIMIT $4
), made AS (
  INSERT INTO knowledge_outbox (tenant_id, memory_type, memory_id, kind)
  SELECT o.tenant_id, o.kind, o.id, 'vector' FROM outdated AS o
  WHERE NOT EXISTS (
    SELECT FROM knowledge_outbox AS b
    WHERE b.tenant_id = o.tenant_id AND b.memory_id = o.id AND b.kind = 'vector' AND b.status <> 'DONE'
  )
  RETURNING memory_id
)
SELECT (SELECT max(o.id::text)::uuid FROM outdated AS o) AS last_id, (SELECT count(*) FROM made) AS jobs;

-- name: has_vector_jobs
-- Whether vectors are still to be made; of a tenant ($1), or of all.
SELECT EXISTS (
  SELECT FROM knowledge_outbox AS b
  WHERE b.kind = 'vector' AND b.status IN ('PENDING', 'FAILED') AND ($1::text IS NULL OR b.tenant_id = $1)
);

-- name: erasable_memories
-- Up to $3 memories of a tenant, the facts first: of one id ($2), of some entities ($4), or all; of one kind ($5), or any.
(SELECT 'fact' AS kind, f.id FROM knowledge_facts AS f
 WHERE f.tenant_id = $1 AND ($2::uuid IS NULL OR f.id = $2) AND ($4::uuid[] IS NULL OR f.entity_id = ANY ($4))
   AND ($5::text IS NULL OR $5 = 'fact')
   LIMIT $3)
UNION ALL
(SELECT 'rule', r.id FROM knowledge_rules AS r
 WHERE r.tenant_id = $1 AND ($2::uuid IS NULL OR r.id = $2) AND $4::uuid[] IS NULL
   AND ($5::text IS NULL OR $5 = 'rule')
   LIMIT $3)
UNION ALL
(SELECT 'episode', e.id FROM knowledge_episodes AS e
 WHERE e.tenant_id = $1 AND ($2::uuid IS NULL OR e.id = $2) AND $4::uuid[] IS NULL
   AND ($5::text IS NULL OR $5 = 'episode')
   LIMIT $3)
LIMIT $3;

-- name: erase_memories
-- Removes memories with their links, jobs and applications; tells how many of each kind went.
WITH links AS (
  DELETE FROM knowledge_links AS l
  WHERE l.tenant_id = $1 AND (l.source_id = ANY ($2::uuid[]) OR l.target_id = ANY ($2::uuid[]))
), jobs AS (
  DELETE FROM knowledge_outbox AS b WHERE b.tenant_id = $1 AND b.memory_id = ANY ($2::uuid[])
), facts AS (
  DELETE FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = ANY ($2::uuid[]) RETURNING f.id
), rules AS (
  DELETE FROM knowledge_rules AS r WHERE r.tenant_id = $1 AND r.id = ANY ($2::uuid[]) RETURNING r.id
), episodes AS (
  DELETE FROM knowledge_episodes AS e WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[]) RETURNING e.id
)
SELECT (SELECT count(*) FROM facts) AS facts, (SELECT count(*) FROM rules) AS rules,
  (SELECT count(*) FROM episodes) AS episodes;

-- name: lock_entities_to_erase
-- Entities of a tenant, one ($2) with those that were merged into it, or all; nobody gives them facts until the transaction
-- ends.
WITH RECURSIVE gone AS (
  SELECT e.id FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND ($2::uuid IS NULL OR e.id = $2)
  UNION
  SELECT e.id FROM gone AS g JOIN knowledge_entities AS e ON e.tenant_id = $1 AND e.metadata ->> 'merged_into' = g.id::text
)
SELECT e.id FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND e.id IN (SELECT g.id FROM gone AS g)
ORDER BY e.id FOR UPDATE OF e;

-- name: erase_entities
-- Removes entities of a tenant: one ($2) with those that were merged into it, or all.
WITH RECURSIVE gone AS (
  SELECT e.id FROM knowledge_entities AS e WHERE e.tenant_id = $1 AND ($2::uuid IS NULL OR e.id = $2)
  UNION
  SELECT e.id FROM gone AS g JOIN knowledge_entities AS e ON e.tenant_id = $1 AND e.metadata ->> 'merged_into' = g.id::text
)
DELETE FROM knowledge_entities AS e USING gone AS g WHERE e.tenant_id = $1 AND e.id = g.id RETURNING e.id;

-- name: blank_events
-- Takes out of events what they tell of memories and entities that are gone.
UPDATE knowledge_events AS v SET payload = '{}', actor = NULL, request_id = NULL, user_id = NULL
WHERE v.tenant_id = $1 AND v.memory_id = ANY ($2::uuid[]);

-- name: blank_events_of_tenant
-- Takes out of all events of a tenant what they tell.
UPDATE knowledge_events AS v SET payload = '{}', actor = NULL, request_id = NULL, user_id = NULL WHERE v.tenant_id = $1;

-- name: erase_traces
-- Removes what is kept of the searches of a tenant.
DELETE FROM search_traces AS t WHERE t.tenant_id = $1 AND t.family = 'knowledge';

-- name: count_memories
-- How many memories of all tenants there are, by kind and state, and since when the oldest episode waits.
SELECT 'episode' AS kind, e.consolidation_status::text AS state, count(*) AS memories,
  min(e.created_at) FILTER (WHERE e.consolidation_status = 'pending' AND e.expires_at > $1) AS oldest
FROM knowledge_episodes AS e GROUP BY e.consolidation_status
UNION ALL
SELECT 'fact', CASE WHEN f.validity = 'active' AND f.metadata ->> 'status' = 'fading' THEN 'fading' ELSE f.validity END,
  count(*), NULL
FROM knowledge_facts AS f GROUP BY 2
UNION ALL
SELECT 'rule', CASE WHEN r.metadata -> 'forgotten' = 'true' THEN 'forgotten' ELSE r.maturity END, count(*), NULL
FROM knowledge_rules AS r GROUP BY 2;

-- name: share_episode
-- Has an episode ($2) seen by other users, or no longer ($3); tells where it is, whose, and how it was before.
WITH before AS (SELECT e.shared FROM knowledge_episodes AS e WHERE e.tenant_id = $1 AND e.id = $2 FOR NO KEY UPDATE)
UPDATE knowledge_episodes AS e SET shared = $3 FROM before AS b WHERE e.tenant_id = $1 AND e.id = $2
RETURNING e.butler AS place, e.user_id, b.shared AS was_shared;

-- name: share_fact
-- Has a fact ($2) seen by other users, or no longer ($3); tells where it is, whose, and how it was before.
WITH before AS (SELECT f.shared FROM knowledge_facts AS f WHERE f.tenant_id = $1 AND f.id = $2 FOR NO KEY UPDATE)
UPDATE knowledge_facts AS f SET shared = $3 FROM before AS b WHERE f.tenant_id = $1 AND f.id = $2
RETURNING f.scope AS place, f.user_id, b.shared AS was_shared;

-- name: share_rule
-- Has a rule ($2) seen by other users, or no longer ($3); tells where it is, whose, and how it was before.
WITH before AS (SELECT r.shared FROM knowledge_rules AS r WHERE r.tenant_id = $1 AND r.id = $2 FOR NO KEY UPDATE)
UPDATE knowledge_rules AS r SET shared = $3 FROM before AS b WHERE r.tenant_id = $1 AND r.id = $2
RETURNING r.scope AS place, r.user_id, b.shared AS was_shared;
