-- Links between memories.

-- name: find_ends
-- Which of these memories are there, for whom asks.
SELECT 'episode' AS kind, e.id FROM knowledge_episodes AS e
WHERE e.tenant_id = $1 AND knowledge_reaches($2, e.butler, NULL, e.user_id, e.shared) AND e.id = ANY ($3::uuid[])
UNION ALL
SELECT 'fact', f.id FROM knowledge_facts AS f
WHERE f.tenant_id = $1 AND knowledge_reaches($2, f.scope, f.reader, f.user_id, f.shared) AND f.id = ANY ($3::uuid[])
UNION ALL
SELECT 'rule', r.id FROM knowledge_rules AS r
WHERE r.tenant_id = $1 AND knowledge_reaches($2, r.scope, r.reader, r.user_id, r.shared) AND r.id = ANY ($3::uuid[]);

-- name: insert_links
-- Adds links, but where there is one from the same memory to the same; tells which are new.
INSERT INTO knowledge_links (tenant_id, source_type, source_id, target_type, target_id, relation, created_at)
SELECT $1, t.source_type, t.source_id, t.target_type, t.target_id, t.relation, $2
FROM unnest($3::text[], $4::uuid[], $5::text[], $6::uuid[], $7::text[])
  AS t (source_type, source_id, target_type, target_id, relation)
ON CONFLICT DO NOTHING
RETURNING source_type, source_id, target_type, target_id, relation, created_at;

-- name: read_link
-- The link from one memory to another.
SELECT l.source_type, l.source_id, l.target_type, l.target_id, l.relation, l.created_at FROM knowledge_links AS l
WHERE l.tenant_id = $1 AND l.source_type = $2 AND l.source_id = $3 AND l.target_type = $4 AND l.target_id = $5;
