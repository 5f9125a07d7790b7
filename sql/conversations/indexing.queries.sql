-- The texts by which entries of histories are found.

-- name: lock_entries
-- Entries of live trees, locked in the order of their ids, and none that was erased. Nothing of their trees is erased
-- meanwhile.
SELECT e.entry_id, e.conversation_id, e.channel FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.entry_id = ANY ($2::uuid[]) AND NOT e.is_erased
ORDER BY e.entry_id FOR KEY SHARE OF t FOR NO KEY UPDATE OF e;

-- name: index_entries
-- Gives entries of histories their texts ($3, with their words $4), or others instead of those they had.
WITH given AS MATERIALIZED (
  SELECT * FROM unnest($2::uuid[], $3::text[], $4::text[]) AS g (entry_id, text, words)
), marked AS (
  UPDATE conversation_entries AS e SET is_indexed = true
  FROM given AS g WHERE e.tenant_id = $1 AND e.entry_id = g.entry_id AND NOT e.is_indexed
)
INSERT INTO conversation_texts AS x (
  tenant_id, conversation_id, seq, entry_id, tree_id, creator, role, text, words, embedding_version, said_at, created_at,
  changed_at
)
SELECT e.tenant_id, e.conversation_id, e.seq, e.entry_id, e.tree_id, t.creator, e.content -> 0 ->> 'role', g.text,
  conversation_words(g.words), $5, e.created_at, $6, $6
FROM given AS g
JOIN conversation_entries AS e ON e.tenant_id = $1 AND e.entry_id = g.entry_id
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id
ORDER BY e.entry_id
ON CONFLICT (entry_id) DO UPDATE SET
  text = excluded.text, words = excluded.words,
  changed_at = greatest(excluded.changed_at, x.changed_at + interval '1 microsecond')
WHERE x.tenant_id = $1;

-- name: list_unindexed
-- Entries of the histories of live trees that have no text, behind a moment and an id.
SELECT f.* FROM (
  SELECT s.*, sum(CASE WHEN s.stored_bytes <= 16777216 THEN length(s.content::text) ELSE 16777216 END)
    OVER (ORDER BY s.number) AS chars
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER place AS number,
      sum(pg_column_size(p.content)) OVER place AS stored_bytes
    FROM (
      SELECT e.* FROM conversation_entries AS e
      JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
      WHERE e.tenant_id = $1 AND e.channel = 'history' AND NOT e.is_indexed
        AND (e.created_at, e.entry_id) > ($2, $3)
      ORDER BY e.created_at, e.entry_id LIMIT $4
    ) AS p WINDOW place AS (ORDER BY p.created_at, p.entry_id)
  ) AS s
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;
