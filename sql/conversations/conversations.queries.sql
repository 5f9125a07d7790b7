-- Conversations and their trees. What a caller may see is asked for with each: `level` is null for one who is no member.

-- name: insert_tree
-- Adds a tree with its first conversation and its owner, unless there is a conversation of this id.
WITH conversation AS (
  SELECT 1 FROM conversations AS c WHERE c.tenant_id = $1 AND c.conversation_id = $3
), tree AS (
  INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at)
  SELECT $1, $2, $4, $4, $7 WHERE NOT EXISTS (SELECT FROM conversation)
  RETURNING tree_id
), member AS (
  INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
  SELECT $1, t.tree_id, $4, 'owner', true, $7 FROM tree AS t
)
INSERT INTO conversations (tenant_id, conversation_id, tree_id, title, titled_by, metadata, created_at, updated_at)
SELECT $1, $3, t.tree_id, $5::text, CASE WHEN $5::text IS NOT NULL THEN $4 END, $6, $7, $7 FROM tree AS t
RETURNING conversation_id;

-- name: insert_fork
-- Adds a fork, unless there is a conversation of this id, with a title of its user ($10), else with that of its parent ($5)
-- as it is now. Its tree is kept from being deleted meanwhile, and its member stays.
WITH parent AS MATERIALIZED (
  SELECT t.tree_id, p.title, p.titled_by FROM conversation_trees AS t
  JOIN conversations AS p ON p.tenant_id = t.tenant_id AND p.tree_id = t.tree_id AND p.conversation_id = $5
  JOIN conversation_memberships AS m ON m.tenant_id = t.tenant_id AND m.tree_id = t.tree_id AND m.user_id = $10
  WHERE t.tenant_id = $1 AND t.tree_id = $2 AND t.deleted_at IS NULL FOR KEY SHARE OF t, m FOR SHARE OF p
)
INSERT INTO conversations (
  tenant_id, conversation_id, tree_id, title, titled_by, forked_at_conversation_id, forked_at_entry_id, ancestors,
  ancestor_ends, created_at, updated_at
)
SELECT $1, $3, p.tree_id, coalesce($4::text, p.title), CASE WHEN $4::text IS NULL THEN p.titled_by ELSE $10 END, $5, $6,
  $7, $8, $9, $9
FROM parent AS p
ON CONFLICT DO NOTHING
RETURNING conversation_id;

-- name: get_conversation
-- A conversation with its tree, and the level of a user ($3) in it.
SELECT c.*, t.owner_user_id, t.deleted_at, m.access_level
FROM conversations AS c
JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
LEFT JOIN conversation_memberships AS m ON m.tenant_id = c.tenant_id AND m.tree_id = c.tree_id AND m.user_id = $3
WHERE c.tenant_id = $1 AND c.conversation_id = $2;

-- name: readable_conversations
-- Those of some conversations ($2) that a user ($3) is a member of.
SELECT c.conversation_id
FROM conversations AS c
JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
JOIN conversation_memberships AS m ON m.tenant_id = c.tenant_id AND m.tree_id = c.tree_id AND m.user_id = $3
WHERE c.tenant_id = $1 AND c.conversation_id = ANY ($2::uuid[]) AND t.deleted_at IS NULL;

-- name: owners_of_conversations
-- Whose some conversations ($2) are, of deleted ones, too.
SELECT c.conversation_id, t.owner_user_id
FROM conversations AS c
JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
WHERE c.tenant_id = $1 AND c.conversation_id = ANY ($2::uuid[]);

-- name: lock_conversation
-- The same for one who is to write to it: others wait, its tree is not deleted and its member stays meanwhile.
SELECT c.*, t.owner_user_id, t.creator, t.deleted_at, m.access_level
FROM conversations AS c
JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
JOIN conversation_memberships AS m ON m.tenant_id = c.tenant_id AND m.tree_id = c.tree_id AND m.user_id = $3
WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND t.deleted_at IS NULL
FOR KEY SHARE OF t, m FOR NO KEY UPDATE OF c;

-- name: lock_tree
-- The tree of a conversation for one who changes it, and the level of a user ($3) in it; others wait.
SELECT t.tree_id, t.owner_user_id, t.deleted_at
FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
WHERE c.tenant_id = $1 AND c.conversation_id = $2 FOR UPDATE OF t;

-- name: level_of
-- The level of a user in a tree.
SELECT m.access_level FROM conversation_memberships AS m
WHERE m.tenant_id = $1 AND m.tree_id = $2 AND m.user_id = $3;

-- name: retitle
-- Gives a conversation a title, or none; who does that is $5.
UPDATE conversations AS c
SET title = $3::text, titled_by = CASE WHEN $3::text IS NOT NULL THEN $5 END, updated_at = greatest(c.updated_at, $4)
WHERE c.tenant_id = $1 AND c.conversation_id = $2;

-- name: list_forks
-- The conversations of a tree, the root first: all, or a page of $4 behind one of them ($3).
SELECT c.conversation_id, c.forked_at_conversation_id, c.forked_at_entry_id, c.title, c.created_at
FROM conversations AS c
LEFT JOIN conversations AS a ON a.tenant_id = $1 AND a.tree_id = $2 AND a.conversation_id = $3
WHERE c.tenant_id = $1 AND c.tree_id = $2
  AND ($3::uuid IS NULL OR (c.forked_at_conversation_id IS NOT NULL, c.created_at, c.conversation_id)
    > (a.forked_at_conversation_id IS NOT NULL, a.created_at, a.conversation_id))
ORDER BY c.forked_at_conversation_id IS NOT NULL, c.created_at, c.conversation_id LIMIT $4;

-- name: is_in_tree
-- Whether a conversation ($3) is one of a tree.
SELECT EXISTS (
  SELECT FROM conversations AS c WHERE c.tenant_id = $1 AND c.tree_id = $2 AND c.conversation_id = $3);

-- name: named_conversation
-- The id that a name stands for now, by the one that it stood for at first; none where that is still the one.
SELECT n.conversation_id FROM conversation_names AS n WHERE n.tenant_id = $1 AND n.name_id = $2;

-- name: delete_tree
-- Deletes a tree: nobody is a member of it any more, and nobody is to get it. Names of its conversations, whose ids are
-- those of names by their version, stand for new ones from now on.
WITH renamed AS (
  INSERT INTO conversation_names AS n (tenant_id, name_id, user_id, generation, conversation_id)
  SELECT $1, s.name_id, s.owner_user_id, s.generation, conversation_of_generation(s.name_id, s.generation)
  FROM (
    SELECT DISTINCT ON (coalesce(k.name_id, c.conversation_id))
      t.owner_user_id, coalesce(k.name_id, c.conversation_id) AS name_id, coalesce(k.generation, 0) + 1 AS generation
    FROM conversations AS c
    JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
    LEFT JOIN conversation_names AS k ON k.tenant_id = c.tenant_id AND k.conversation_id = c.conversation_id
    WHERE c.tenant_id = $1 AND c.tree_id = $2
      AND (k.name_id IS NOT NULL OR substr(c.conversation_id::text, 15, 1) = '5')
    ORDER BY coalesce(k.name_id, c.conversation_id), k.generation DESC NULLS LAST
  ) AS s
  ON CONFLICT (tenant_id, name_id) DO UPDATE
  SET generation = excluded.generation, conversation_id = excluded.conversation_id
  WHERE n.generation < excluded.generation
), transfers AS (DELETE FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.tree_id = $2),
members AS (DELETE FROM conversation_memberships AS m WHERE m.tenant_id = $1 AND m.tree_id = $2)
UPDATE conversation_trees AS t SET deleted_at = $3 WHERE t.tenant_id = $1 AND t.tree_id = $2;

-- name: restore_tree
-- Brings a deleted tree back; its owner is a member again, and names that nothing was said by since then stand for its
-- conversations again.
WITH renamed AS (
  UPDATE conversation_names AS n SET generation = n.generation - 1, conversation_id = c.conversation_id
  FROM conversations AS c
  WHERE c.tenant_id = $1 AND c.tree_id = $2 AND n.tenant_id = $1 AND n.generation > 0
    AND c.conversation_id = conversation_of_generation(n.name_id, n.generation - 1)
    AND NOT EXISTS (
      SELECT FROM conversations AS o WHERE o.tenant_id = $1 AND o.conversation_id = n.conversation_id)
), member AS (
  INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
  SELECT $1, $2, t.owner_user_id, 'owner', t.owner_user_id = t.creator, $3 FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $2
)
UPDATE conversation_trees AS t SET deleted_at = NULL WHERE t.tenant_id = $1 AND t.tree_id = $2;

-- name: list_conversations
-- A page of what a user ($2) is a member of, changed last first, behind a place ($4, $5): of each tree all conversations,
-- the roots, or the one that was changed last ($3). $6 is part of a title or of a text in the metadata, in any case.
SELECT c.*, t.owner_user_id, t.deleted_at, m.access_level
FROM conversation_memberships AS m
JOIN conversation_trees AS t ON t.tenant_id = m.tenant_id AND t.tree_id = m.tree_id AND t.deleted_at IS NULL
CROSS JOIN LATERAL (
  SELECT c.* FROM conversations AS c
  WHERE c.tenant_id = m.tenant_id AND c.tree_id = m.tree_id
    AND ($3 <> 'roots' OR c.forked_at_conversation_id IS NULL)
  ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT CASE WHEN $3 = 'latest-fork' THEN 1 END
) AS c
WHERE m.tenant_id = $1 AND m.user_id = $2 AND (c.updated_at, c.conversation_id) < ($4, $5)
  AND ($6::text IS NULL OR strpos(conversation_folded(c.title), conversation_folded($6)) > 0 OR EXISTS (
    SELECT FROM jsonb_path_query(c.metadata, '$.** ? (@.type() == "string")') AS v (text)
    WHERE strpos(conversation_folded(v.text #>> '{}'), conversation_folded($6)) > 0))
ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT $7;

-- name: count_conversations
-- How many conversations there are of all tenants, and how many that are deleted and not yet evicted.
SELECT CASE WHEN t.deleted_at IS NULL THEN 'live' ELSE 'deleted' END AS state, count(*) AS conversations
FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
GROUP BY 1;
