-- Entities. Whoever asks sees those that no user made, its own, and those that a fact is about which it sees: it tells what
-- it reaches (knowledge_reaches).

-- name: insert_entity
-- Adds an entity, unless there is one of this name and type that whom asks ($8) sees.
INSERT INTO knowledge_entities (
  id, tenant_id, canonical_name, entity_type, aliases, names, searched, metadata, created_at, updated_at, user_id
)
SELECT $2, $1, $3, $4, $5, n.names, array_to_string(n.names, E'\n'), $6, $7, $7, ($8::text[])[2]
FROM (SELECT array_agg(DISTINCT lower(a.name)) AS names FROM unnest($5::text[] || $3::text) AS a (name)) AS n
WHERE NOT EXISTS (
  SELECT FROM knowledge_entities AS e
  WHERE e.tenant_id = $1 AND e.canonical_name = $3::varchar AND e.entity_type = $4::varchar
    AND (($8)[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($8)[2])
)
ON CONFLICT DO NOTHING
RETURNING id;

-- name: get_entity
-- Reads an entity.
SELECT e.id, e.tenant_id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at
FROM knowledge_entities AS e
WHERE e.tenant_id = $1 AND e.id = $2
  AND (($3::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($3)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($3, f.scope, f.reader, f.user_id, f.shared)));

-- name: lock_entities
-- Reads entities and keeps them, in the order of their ids.
SELECT e.id, e.tenant_id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at, e.user_id
FROM knowledge_entities AS e
WHERE e.tenant_id = $1 AND e.id = ANY ($2::uuid[])
  AND (($3::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($3)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($3, f.scope, f.reader, f.user_id, f.shared)))
ORDER BY e.id FOR UPDATE OF e;

-- name: update_entity
-- Writes the name, the aliases and the metadata of an entity.
UPDATE knowledge_entities AS e
SET canonical_name = $3, aliases = $4, metadata = $5, updated_at = $6, names = n.names,
  searched = array_to_string(n.names, E'\n')
FROM (SELECT array_agg(DISTINCT lower(a.name)) AS names FROM unnest($4::text[] || $3::text) AS a (name)) AS n
WHERE e.tenant_id = $1 AND e.id = $2
RETURNING e.id, e.tenant_id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at;

-- name: list_entities
-- A page of entities, newest first, behind a place; merged ones or others.
SELECT e.id, e.tenant_id, e.canonical_name, e.entity_type, e.aliases, e.metadata, e.created_at, e.updated_at
FROM knowledge_entities AS e
WHERE e.tenant_id = $1 AND (e.created_at, e.id) < ($2, $3)
  AND ($5::text IS NULL OR e.entity_type = $5) AND (e.metadata ? 'merged_into') = $6
  AND (($7::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($7)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($7, f.scope, f.reader, f.user_id, f.shared)))
ORDER BY e.created_at DESC, e.id DESC LIMIT $4;

-- name: named_entities
-- Entities by a name ($2, in any case) and the best way in which it is theirs: the name, an alias, or a part of either.
-- $3 is a type or null, $4 the pattern of a part, $5 how many at most.
WITH asked AS (SELECT lower($2::text) AS name),
found AS (
  SELECT e.id, e.canonical_name, e.entity_type, e.aliases,
    CASE WHEN lower(e.canonical_name) = a.name THEN 'exact' WHEN a.name = ANY (e.names) THEN 'alias' ELSE 'prefix' END
      AS name_match
  FROM asked AS a CROSS JOIN knowledge_entities AS e
  WHERE e.tenant_id = $1 AND (e.names @> ARRAY[a.name] OR e.searched LIKE lower($4))
    AND ($3::text IS NULL OR e.entity_type = $3) AND NOT e.metadata ? 'merged_into'
    AND (($6::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($6)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($6, f.scope, f.reader, f.user_id, f.shared)))
)
SELECT id, canonical_name, entity_type, aliases, name_match FROM found
ORDER BY CASE name_match WHEN 'exact' THEN 0 WHEN 'alias' THEN 1 ELSE 2 END, canonical_name COLLATE "C", id LIMIT $5;

-- name: can_be_similar
-- Whether names can be compared for likeness: the schema of pg_trgm, or null.
SELECT quote_ident(n.nspname) FROM pg_extension AS x JOIN pg_namespace AS n ON n.oid = x.extnamespace
WHERE x.extname = 'pg_trgm';

-- name: similar_entities
-- Entities that have a name most similar to one ($2), at least $4, and neither that name nor a part like it ($7): these
-- are found by their names. <trgm> is the schema of pg_trgm. The share of the
-- three-letter groups in common is told by similarity(); the index gives those that have enough of them somewhere.
SELECT e.id, e.canonical_name, e.entity_type, e.aliases, s.likeness
FROM knowledge_entities AS e CROSS JOIN LATERAL (
  SELECT max(<trgm>.similarity(n.name, lower($2))) AS likeness FROM unnest(e.names) AS n (name)
) AS s
WHERE e.tenant_id = $1 AND e.searched OPERATOR(<trgm>.%>) lower($2) AND s.likeness >= $4
  AND NOT (e.names @> ARRAY[lower($2::text)] OR e.searched LIKE lower($7))
  AND ($3::text IS NULL OR e.entity_type = $3) AND NOT e.metadata ? 'merged_into'
  AND (($6::text[])[2] IS NULL OR e.user_id IS NULL OR e.user_id = ($6)[2] OR EXISTS (
    SELECT FROM knowledge_facts AS f
    WHERE f.tenant_id = $1 AND f.entity_id = e.id AND knowledge_reaches($6, f.scope, f.reader, f.user_id, f.shared)))
ORDER BY s.likeness DESC, e.canonical_name COLLATE "C", e.id LIMIT $5;

-- name: facts_of_entities
-- What the newest active facts of each entity say, up to $4 each and of each the first $5 characters, as far as whom asks
-- may see them.
SELECT e.id, n.predicate, left(n.content, $5) AS content FROM unnest($3::uuid[]) AS e (id) CROSS JOIN LATERAL (
  SELECT f.predicate, f.content FROM knowledge_facts AS f
  WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.entity_id = e.id AND f.validity = 'active'
  ORDER BY f.created_at DESC, f.id LIMIT $4
) AS n;

-- name: conflicting_facts
-- The active facts of a source ($2) and a target ($3) that have one scope, user and predicate, locked: which of the two
-- stays, and whether whom asks ($4) is told of them.
SELECT s.id AS source_id, t.id AS target_id, s.confidence > t.confidence AS source_stays,
  knowledge_reaches($4, s.scope, s.reader, s.user_id, s.shared) AS is_told
FROM knowledge_facts AS s JOIN knowledge_facts AS t
  ON t.tenant_id = $1 AND t.entity_id = $3 AND t.validity = 'active' AND t.scope = s.scope AND t.predicate = s.predicate
  AND t.user_id IS NOT DISTINCT FROM s.user_id
WHERE s.tenant_id = $1 AND s.entity_id = $2 AND s.validity = 'active'
ORDER BY s.id FOR UPDATE OF s, t;

-- name: count_active_facts
-- How many active facts an entity has, as far as whom asks ($3) sees them.
SELECT count(*) FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($3, f.scope, f.reader, f.user_id, f.shared) AND f.entity_id = $2 AND f.validity = 'active';

-- name: move_facts
-- Gives all facts of an entity ($2) to another ($3), past ones, too.
UPDATE knowledge_facts AS f SET entity_id = $3 WHERE f.tenant_id = $1 AND f.entity_id = $2;

-- name: note_what_stays
-- Says of facts that stay ($2) which they superseded ($3), where they say nothing of it yet, and links them.
WITH pairs AS (SELECT * FROM unnest($2::uuid[], $3::uuid[]) AS p (stays, goes)),
told AS (
  UPDATE knowledge_facts AS f SET supersedes_id = p.goes FROM pairs AS p
  WHERE f.tenant_id = $1 AND f.id = p.stays AND f.supersedes_id IS NULL
)
INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT $1, 'fact', p.stays, 'fact', p.goes, 'supersedes', $4 FROM pairs AS p
ON CONFLICT ON CONSTRAINT knowledge_links_once DO UPDATE SET relation = 'supersedes';
