-- What is told of memories to whoever stands above all families: $1 tenant, $2 the scope of the user who asks, everywhere.

-- name: offered_episode
-- Reads an episode ($3) whose time is not over at $4, unless it is neither of a scope ($5, or null) nor names a user ($6)
-- as theirs, to an agent ($7, or to any).
SELECT e.id, e.content, e.created_at, e.butler FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = $3 AND e.expires_at > $4
  AND ($5::text IS NULL OR e.butler = $5 OR (e.user_id = $6::text
    AND ($7::text IS NULL OR e.butler = $7)));

-- name: offered_fact
-- Reads a fact ($3) of a scope ($4, or of any) that is known, or was until another took its place.
SELECT f.id, f.subject, f.predicate, f.content, f.created_at, f.confidence, f.decay_rate, f.last_confirmed_at,
  f.source_episode_id, f.source_butler
FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = $3
  AND f.validity IN ('active', 'superseded') AND ($4::text IS NULL OR knowledge_is_of(f.scope, f.reader, $4));

-- name: offered_rule
-- Reads a rule ($3) of a scope ($4, or of any) that is not forgotten.
SELECT r.id, r.content, r.created_at, r.confidence, r.decay_rate, r.last_confirmed_at, r.source_episode_id,
  r.source_butler
FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = $3
  AND r.metadata -> 'forgotten' IS DISTINCT FROM 'true' AND ($4::text IS NULL OR knowledge_is_of(r.scope, r.reader, $4));

-- name: texts_of_episodes
-- Reads what episodes ($3) say, but for another user's than that of $2, or than $4 where that is not null.
SELECT e.content FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = ANY ($3::uuid[])
  AND ($4::text IS NULL OR coalesce(e.user_id, $4) = $4)
ORDER BY e.created_at, e.id;

-- name: standing_of_memories
-- What memories ($3 kinds, $4 ids, $5 the episode that each names as its source, or null) rest on, as names of the form
-- kind:id: the episodes that they are derived from, and what these name in turn, by the keys $6 of their metadata, as
-- kinds $7. An episode is named by its own source; one that is gone is named all the same. What is another user's than that
-- of $2, or than $8 where that is not null, is left out. With it, whether a memory that holds at $9 contradicts it or is
-- contradicted by it, and which was the last to take its place.
SELECT a.kind, a.id, p.names, n.is_contradicted, n.superseded_by
FROM unnest($3::text[], $4::uuid[], $5::uuid[]) AS a (kind, id, source_id)
CROSS JOIN LATERAL (
  SELECT array_agg(t.name ORDER BY s.place, s.created_at, s.id, t.place, t.name) AS names
  FROM (
    SELECT 0 AS place, NULL::timestamptz AS created_at, a.source_id AS id WHERE a.source_id IS NOT NULL
    UNION ALL
    SELECT 1, l.created_at, l.target_id FROM knowledge_links AS l
    WHERE l.tenant_id = $1 AND l.source_type = a.kind AND l.source_id = a.id AND l.target_type = 'episode'
      AND l.relation = 'derived_from'
  ) AS s
  LEFT JOIN knowledge_episodes AS e ON e.tenant_id = $1 AND e.id = s.id
  CROSS JOIN LATERAL (
    SELECT 0 AS place, 'episode:' || s.id AS name
    UNION ALL
    SELECT 1, 'session:' || e.session_id WHERE e.session_id IS NOT NULL
    UNION ALL
    SELECT 2, k.kind || ':' || (v.value #>> '{}')
    FROM unnest($6::text[], $7::text[]) AS k (key, kind)
    CROSS JOIN LATERAL jsonb_path_query(e.metadata -> k.key, 'lax $[*] ? (@.type() == "string")') AS v (value)
    WHERE e.metadata ? k.key
  ) AS t
  WHERE (e.id IS NULL OR knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared))
    AND ($8::text IS NULL OR coalesce(e.user_id, $8) = $8)
) AS p
CROSS JOIN LATERAL (
  SELECT coalesce(bool_or(o.relation = 'contradicts'), false) AS is_contradicted,
    (array_agg(o.id ORDER BY o.created_at DESC, o.id) FILTER (WHERE o.relation = 'supersedes'))[1] AS superseded_by
  FROM (
    SELECT l.relation, l.created_at, l.source_type AS kind, l.source_id AS id FROM knowledge_links AS l
    WHERE l.tenant_id = $1 AND l.target_type = a.kind AND l.target_id = a.id AND l.relation IN ('contradicts', 'supersedes')
    UNION ALL
    SELECT l.relation, l.created_at, l.target_type, l.target_id FROM knowledge_links AS l
    WHERE l.tenant_id = $1 AND l.source_type = a.kind AND l.source_id = a.id AND l.relation = 'contradicts'
  ) AS o
  WHERE EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE o.kind = 'fact' AND f.tenant_id = $1 AND f.id = o.id AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared)
      AND (o.relation = 'supersedes' OR f.validity = 'active')
  ) OR EXISTS (
    SELECT FROM knowledge_rules AS r
    WHERE o.kind = 'rule' AND r.tenant_id = $1 AND r.id = o.id AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared)
      AND (o.relation = 'supersedes' OR r.metadata -> 'forgotten' IS DISTINCT FROM 'true')
  ) OR EXISTS (
    SELECT FROM knowledge_episodes AS e
    WHERE o.kind = 'episode' AND e.tenant_id = $1 AND e.id = o.id AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared)
      AND (o.relation = 'supersedes' OR e.expires_at > $9)
  )
) AS n;
