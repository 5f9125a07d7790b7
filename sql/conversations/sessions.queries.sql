-- Sessions: names of users for places in trees.

-- name: get_session
-- A session of a user ($2) whose tree is live.
SELECT s.* FROM conversation_sessions AS s
JOIN conversation_trees AS t ON t.tenant_id = s.tenant_id AND t.tree_id = s.tree_id AND t.deleted_at IS NULL
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.session_id = $3;

-- name: lock_session
-- The same for one who is to write it: others wait.
SELECT s.* FROM conversation_sessions AS s
JOIN conversation_trees AS t ON t.tenant_id = s.tenant_id AND t.tree_id = s.tree_id AND t.deleted_at IS NULL
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.session_id = $3
FOR KEY SHARE OF t FOR UPDATE OF s;

-- name: list_sessions
-- A page of the sessions of a user ($2) whose trees are live, written last first, behind a place ($3, $4): $5 at most, and
-- no more than have 16 Mi characters of data, but for the first one; `found` is how many it would be without that.
SELECT f.* FROM (
  SELECT c.*, sum(CASE WHEN c.stored_bytes <= 16777216 THEN length(c.data::text) ELSE 16777216 END)
    OVER (ORDER BY c.number) AS chars
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER place AS number,
      sum(pg_column_size(p.data)) OVER place AS stored_bytes
    FROM (
      SELECT s.* FROM conversation_sessions AS s
      JOIN conversation_trees AS t ON t.tenant_id = s.tenant_id AND t.tree_id = s.tree_id AND t.deleted_at IS NULL
      WHERE s.tenant_id = $1 AND s.user_id = $2 AND (s.updated_at, s.session_id) < ($3, $4)
      ORDER BY s.updated_at DESC, s.session_id DESC LIMIT $5
    ) AS p WINDOW place AS (ORDER BY p.updated_at DESC, p.session_id DESC)
  ) AS c
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;

-- name: begin_session
-- Adds a session, or takes the name of one whose tree is deleted. Returns it; nothing where another has the name.
INSERT INTO conversation_sessions AS s (
  tenant_id, user_id, session_id, tree_id, conversation_id, entry_id, data, revision, created_at, updated_at
)
SELECT $1, $2, $3, c.tree_id, c.conversation_id, $5, $6, $7, $8, $8
FROM conversations AS c WHERE c.tenant_id = $1 AND c.conversation_id = $4
ON CONFLICT (tenant_id, user_id, session_id) DO UPDATE SET
  tree_id = excluded.tree_id, conversation_id = excluded.conversation_id, entry_id = excluded.entry_id,
  data = excluded.data, revision = excluded.revision, created_at = excluded.created_at, updated_at = excluded.updated_at
WHERE EXISTS (
  SELECT FROM conversation_trees AS t
  WHERE t.tenant_id = s.tenant_id AND t.tree_id = s.tree_id AND t.deleted_at IS NOT NULL)
RETURNING s.*;

-- name: move_session
-- Says where a locked session is now, later than where it was, and what it keeps where that is given ($6).
UPDATE conversation_sessions AS s
SET tree_id = c.tree_id, conversation_id = c.conversation_id, entry_id = $5, data = coalesce($6, s.data), revision = $7,
  updated_at = greatest($8, s.updated_at + interval '1 microsecond')
FROM conversations AS c
WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.session_id = $3 AND c.tenant_id = $1 AND c.conversation_id = $4
RETURNING s.*;

-- name: drop_session
-- Removes the name of a locked session; what it led to stays.
DELETE FROM conversation_sessions AS s WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.session_id = $3;

-- name: find_session_key
-- The entry that a user's ($2) program knows by a key ($3), in a live tree of one of the user's sessions.
SELECT e.conversation_id, e.seq FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
WHERE e.tenant_id = $1 AND e.session_key = $3 AND EXISTS (
  SELECT FROM conversation_sessions AS s
  WHERE s.tenant_id = e.tenant_id AND s.user_id = $2 AND s.tree_id = e.tree_id)
ORDER BY e.created_at DESC LIMIT 1;
