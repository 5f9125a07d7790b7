-- What operators see: every tree of their tenant, whoever is a member, deleted or not. One that is being evicted, deleted
-- since ever (see eviction.queries.sql), is gone already.

-- name: get_any_conversation
-- A conversation with its tree.
SELECT c.*, t.owner_user_id, t.deleted_at, 'owner' AS access_level
FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND t.deleted_at IS DISTINCT FROM '-infinity';

-- name: lock_any_tree
-- The tree of a conversation for one who changes it; others wait.
SELECT t.tree_id, t.deleted_at
FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND t.deleted_at IS DISTINCT FROM '-infinity' FOR UPDATE OF t;

-- name: list_newest_conversations
-- A page of all conversations that are live, and of deleted ones ($6), changed last first, behind a place ($3, $4): of
-- each tree all, the roots, or the one that was changed last ($2).
SELECT c.*, t.owner_user_id, t.deleted_at, 'owner' AS access_level
FROM conversations AS c JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
WHERE c.tenant_id = $1 AND (c.updated_at, c.conversation_id) < ($3, $4)
  AND (t.deleted_at IS NULL OR $6 AND t.deleted_at > '-infinity')
  AND ($2 <> 'roots' OR c.forked_at_conversation_id IS NULL)
  AND ($2 <> 'latest-fork' OR NOT EXISTS (
    SELECT FROM conversations AS o WHERE o.tenant_id = c.tenant_id AND o.tree_id = c.tree_id
      AND (o.updated_at, o.conversation_id) > (c.updated_at, c.conversation_id)))
ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT $5;

-- name: list_conversations_of_owner
-- The same of an owner's ($6): those that are live ($7), and those deleted ($8) from a moment on and before another.
SELECT c.*, t.owner_user_id, t.deleted_at, 'owner' AS access_level
FROM conversation_trees AS t
CROSS JOIN LATERAL (
  SELECT c.* FROM conversations AS c
  WHERE c.tenant_id = t.tenant_id AND c.tree_id = t.tree_id
    AND ($2 <> 'roots' OR c.forked_at_conversation_id IS NULL)
  ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT CASE WHEN $2 = 'latest-fork' THEN 1 END
) AS c
WHERE t.tenant_id = $1 AND t.owner_user_id = $6 AND (c.updated_at, c.conversation_id) < ($3, $4)
  AND (t.deleted_at IS NULL AND $7
    OR t.deleted_at > '-infinity' AND $8 AND t.deleted_at >= coalesce($9, '-infinity'::timestamptz)
      AND t.deleted_at < coalesce($10, 'infinity'::timestamptz))
ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT $5;

-- name: list_deleted_conversations
-- The same of those deleted from a moment ($6) on, and before another ($7).
SELECT c.*, t.owner_user_id, t.deleted_at, 'owner' AS access_level
FROM conversation_trees AS t
CROSS JOIN LATERAL (
  SELECT c.* FROM conversations AS c
  WHERE c.tenant_id = t.tenant_id AND c.tree_id = t.tree_id
    AND ($2 <> 'roots' OR c.forked_at_conversation_id IS NULL)
  ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT CASE WHEN $2 = 'latest-fork' THEN 1 END
) AS c
WHERE t.tenant_id = $1 AND t.deleted_at > '-infinity' AND t.deleted_at >= coalesce($6, '-infinity'::timestamptz)
  AND t.deleted_at < coalesce($7, 'infinity'::timestamptz) AND (c.updated_at, c.conversation_id) < ($3, $4)
ORDER BY c.updated_at DESC, c.conversation_id DESC LIMIT $5;

-- name: locate_any_entry
-- Where an entry was written, and when.
SELECT e.conversation_id, e.tree_id, e.seq, e.created_at FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.entry_id = $2;

-- name: list_whole_view
-- A page of a view: every channel, or one ($5). It ends as that of list_view.
SELECT f.* FROM (
  SELECT s.*, sum(CASE WHEN s.stored_bytes <= 16777216 THEN length(s.content::text) ELSE 16777216 END)
    OVER (ORDER BY s.number) AS chars
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER place AS number,
      sum(pg_column_size(p.content)) OVER place AS stored_bytes
    FROM (
      SELECT page.*, v.place
      FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS v (conversation_id, beginning, ending, place)
      CROSS JOIN LATERAL (
        SELECT e.* FROM conversation_entries AS e
        WHERE e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND ($5::text IS NULL OR e.channel = $5)
          AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
        ORDER BY e.seq LIMIT $6
      ) AS page
      ORDER BY v.place, page.seq LIMIT $6
    ) AS p WINDOW place AS (ORDER BY p.place, p.seq)
  ) AS s
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;

-- name: list_whole_tree
-- A page of all entries of a tree behind a moment and an id: every channel, or one ($4).
SELECT f.* FROM (
  SELECT s.*, sum(CASE WHEN s.stored_bytes <= 16777216 THEN length(s.content::text) ELSE 16777216 END)
    OVER (ORDER BY s.number) AS chars
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER place AS number,
      sum(pg_column_size(p.content)) OVER place AS stored_bytes
    FROM (
      SELECT e.* FROM conversation_entries AS e
      WHERE e.tenant_id = $1 AND e.tree_id = $2 AND ($4::text IS NULL OR e.channel = $4)
        AND (e.created_at, e.entry_id) > ($5, $6)
      ORDER BY e.created_at, e.entry_id LIMIT $3
    ) AS p WINDOW place AS (ORDER BY p.created_at, p.entry_id)
  ) AS s
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;
