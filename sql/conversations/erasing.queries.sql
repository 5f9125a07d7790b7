-- Erasing all that is somebody's. Trees go whole, as in eviction.queries.sql, but those that others have at work are waited
-- for. What stays in the trees of others is blanked: forks and lists count on every entry being there.

-- name: lock_trees_of_tenant
-- Up to $2 trees of a tenant, locked: nobody shares, deletes or restores them meanwhile. Who writes to them is not waited
-- for.
SELECT t.tree_id FROM conversation_trees AS t WHERE t.tenant_id = $1
ORDER BY t.tree_id LIMIT $2 FOR NO KEY UPDATE;

-- name: lock_trees_of_owner
-- The same of those that a user owns.
SELECT t.tree_id FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.owner_user_id = $3 LIMIT $2 FOR NO KEY UPDATE;

-- name: hide_trees
-- Hides locked trees as those that are being evicted. Returns how many members and transfers they had.
WITH transfers AS (
  DELETE FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.tree_id = ANY ($2::uuid[]) RETURNING 1
), members AS (
  DELETE FROM conversation_memberships AS m WHERE m.tenant_id = $1 AND m.tree_id = ANY ($2::uuid[]) RETURNING 1
), hidden AS (
  UPDATE conversation_trees AS t SET deleted_at = '-infinity'
  WHERE t.tenant_id = $1 AND t.tree_id = ANY ($2::uuid[]) AND t.deleted_at IS DISTINCT FROM '-infinity'
)
SELECT (SELECT count(*) FROM members) AS memberships, (SELECT count(*) FROM transfers) AS transfers;

-- name: lock_whole_tree
-- A tree for one who changes anything in it; all others wait, those who write to it, too.
SELECT t.owner_user_id FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $2 FOR UPDATE;

-- name: erase_recordings
-- Removes what is being recorded of a tree, but for its content. Returns the recordings.
DELETE FROM conversation_recordings AS r USING conversations AS c
WHERE c.tenant_id = $1 AND c.tree_id = $2 AND r.tenant_id = c.tenant_id AND r.conversation_id = c.conversation_id
RETURNING r.recording_id;

-- name: erase_recorded
-- Removes the content of recordings that are gone. A statement of its own, as it has to see what was stored until then.
DELETE FROM conversation_recording_chunks AS p WHERE p.tenant_id = $1 AND p.recording_id = ANY ($2::uuid[]);

-- name: next_membership
-- The next tree behind $3 that a user is a member of.
SELECT m.tree_id FROM conversation_memberships AS m WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.tree_id > $3
ORDER BY m.tree_id LIMIT 1;

-- name: next_begun_tree
-- The next tree behind $3 that a user began and another owns.
SELECT t.tree_id FROM conversation_trees AS t
WHERE t.tenant_id = $1 AND t.creator = $2 AND t.creator <> t.owner_user_id AND t.tree_id > $3
ORDER BY t.tree_id LIMIT 1;

-- name: unsign_texts
-- Takes the name of who began a tree off up to $4 of its texts. Returns these.
WITH page AS MATERIALIZED (
  SELECT x.entry_id FROM conversation_texts AS x WHERE x.tenant_id = $1 AND x.tree_id = $2 AND x.creator = $3 LIMIT $4
)
UPDATE conversation_texts AS x SET creator = '', changed_at = greatest(now(), x.changed_at + interval '1 microsecond')
FROM page AS s WHERE x.tenant_id = $1 AND x.entry_id = s.entry_id
RETURNING x.entry_id;

-- name: unsign_tree
-- Takes the name of who began it off a tree whose texts have it no longer, with what its first conversation was begun with.
WITH members AS (
  UPDATE conversation_memberships AS m SET is_creator = false
  WHERE m.tenant_id = $1 AND m.tree_id = $2 AND m.is_creator
), root AS (
  UPDATE conversations AS c SET metadata = '{}'
  WHERE c.tenant_id = $1 AND c.tree_id = $2 AND c.forked_at_conversation_id IS NULL
)
UPDATE conversation_trees AS t SET creator = '' WHERE t.tenant_id = $1 AND t.tree_id = $2;

-- name: next_tree_of_user
-- The next tree behind $3 with something in it that a user said.
SELECT e.tree_id FROM conversation_entries AS e WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.tree_id > $3
ORDER BY e.tree_id LIMIT 1;

-- name: next_tree_of_client
-- The next tree behind $3 with something in it that a client wrote.
SELECT e.tree_id FROM conversation_entries AS e WHERE e.tenant_id = $1 AND e.client_id = $2 AND e.tree_id > $3
ORDER BY e.tree_id LIMIT 1;

-- name: blank_entries_of_user
-- Blanks up to $4 entries of a user in a locked tree: of what was said the role stays. Returns them. The digest of blanked
-- memory is that of no items at all.
WITH page AS MATERIALIZED (
  SELECT e.conversation_id, e.seq FROM conversation_entries AS e
  WHERE e.tenant_id = $1 AND e.tree_id = $2 AND e.user_id = $3 LIMIT $4
)
UPDATE conversation_entries AS e
SET user_id = NULL, session_key = NULL, is_erased = true, is_indexed = e.channel = 'history',
  content_type = CASE e.channel WHEN 'history' THEN 'history' ELSE 'erased' END,
  content = CASE e.channel
    WHEN 'history' THEN json_build_array(json_build_object('role', e.content -> 0 ->> 'role', 'text', '')) ELSE '[]' END,
  memory_count = CASE e.channel WHEN 'memory' THEN 0 END, memory_digest = CASE e.channel WHEN 'memory' THEN '\x00'::bytea END,
  memory_type = NULL
FROM page AS s WHERE e.tenant_id = $1 AND e.conversation_id = s.conversation_id AND e.seq = s.seq
RETURNING e.entry_id, e.conversation_id, e.channel, e.client_id;

-- name: blank_entries_of_client
-- Blanks up to $4 entries of the memory of a client in a locked tree, and takes its name off what it said. Returns them.
WITH page AS MATERIALIZED (
  SELECT e.conversation_id, e.seq FROM conversation_entries AS e
  WHERE e.tenant_id = $1 AND e.tree_id = $2 AND e.client_id = $3 LIMIT $4
)
UPDATE conversation_entries AS e
SET client_id = CASE e.channel WHEN 'memory' THEN '' END,
  user_id = CASE e.channel WHEN 'history' THEN e.user_id END,
  is_erased = e.is_erased OR e.channel = 'memory',
  content_type = CASE e.channel WHEN 'history' THEN e.content_type ELSE 'erased' END,
  content = CASE e.channel WHEN 'history' THEN e.content ELSE '[]' END,
  memory_count = CASE e.channel WHEN 'memory' THEN 0 END, memory_digest = CASE e.channel WHEN 'memory' THEN '\x00'::bytea END,
  memory_type = NULL
FROM page AS s WHERE e.tenant_id = $1 AND e.conversation_id = s.conversation_id AND e.seq = s.seq
RETURNING e.channel;

-- name: spoil_memories
-- Makes what clients remember in a tree like nothing that they may sync: the digests are of items that are gone, too.
UPDATE conversation_entries AS e SET memory_digest = '\x00'
WHERE e.tenant_id = $1 AND e.tree_id = $2 AND e.client_id = ANY ($3::text[]) AND e.channel = 'memory'
  AND e.memory_digest <> '\x00';

-- name: erase_texts
-- Removes the texts by which entries are found. Returns those that had one.
DELETE FROM conversation_texts AS x WHERE x.tenant_id = $1 AND x.entry_id = ANY ($2::uuid[]) RETURNING x.entry_id;

-- name: erase_previews
-- Takes the previews off conversations whose newest entry was erased.
UPDATE conversations AS c SET last_message_preview = NULL
WHERE c.tenant_id = $1 AND c.conversation_id = ANY ($2::uuid[]) AND (
  SELECT e.is_erased FROM conversation_entries AS e
  WHERE e.tenant_id = $1 AND e.conversation_id = c.conversation_id AND e.channel = 'history' ORDER BY e.seq DESC LIMIT 1);

-- name: page_of_titles
-- The last of the next $4 conversations behind $3, and those of them that have their titles of a user.
SELECT max(c.conversation_id::text)::uuid AS last,
  array_agg(c.conversation_id) FILTER (WHERE c.titled_by = $2) AS titled
FROM (
  SELECT c.conversation_id, c.titled_by FROM conversations AS c
  WHERE c.tenant_id = $1 AND c.conversation_id > $3 ORDER BY c.conversation_id LIMIT $4
) AS c;

-- name: erase_titles
-- Takes the titles off conversations that have them of a user. Returns the conversations.
UPDATE conversations AS c SET title = NULL, titled_by = NULL
WHERE c.tenant_id = $1 AND c.titled_by = $2 AND c.conversation_id = ANY ($3::uuid[]) RETURNING c.conversation_id;

-- name: erase_sessions
-- Removes the next $3 sessions of a user ($2), or of all users of a tenant. Returns how many there were.
WITH page AS MATERIALIZED (
  SELECT s.user_id, s.session_id FROM conversation_sessions AS s
  WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.user_id = $2) LIMIT $3 FOR UPDATE
), gone AS (
  DELETE FROM conversation_sessions AS s USING page AS p
  WHERE s.tenant_id = $1 AND s.user_id = p.user_id AND s.session_id = p.session_id RETURNING 1
)
SELECT count(*) FROM gone;

-- name: entries_of_sources
-- Up to $5 entries of histories that a user ($2) may read, the newest first: those of some ids ($3), and those of some
-- conversations ($4). may_redact: the words are the user's, or stand in a tree that the user owns.
SELECT e.entry_id, e.conversation_id, e.content, x.text AS indexed,
  (e.user_id IS NOT DISTINCT FROM $2 OR t.owner_user_id = $2) AS may_redact
FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
JOIN conversation_memberships AS m ON m.tenant_id = e.tenant_id AND m.tree_id = e.tree_id AND m.user_id = $2
LEFT JOIN conversation_texts AS x ON x.tenant_id = e.tenant_id AND x.entry_id = e.entry_id
WHERE e.tenant_id = $1 AND e.channel = 'history' AND NOT e.is_erased
  AND (e.entry_id = ANY ($3::uuid[]) OR e.conversation_id = ANY ($4::uuid[]))
ORDER BY e.created_at DESC, e.entry_id LIMIT $5;

-- name: redact_entry
-- Gives a locked entry of a history another content ($3), and marks it as erased where nothing is left of it ($4).
UPDATE conversation_entries AS e
SET content = $3, is_erased = $4, session_key = CASE WHEN $4 THEN NULL ELSE e.session_key END
WHERE e.tenant_id = $1 AND e.entry_id = $2;

-- name: redact_titles
-- Puts a mark ($4) in place of a quote ($3) in the title and the preview of a conversation, also where they are cut short
-- within it.
UPDATE conversations AS c
SET title = CASE WHEN starts_with($3, c.title) THEN NULL ELSE replace(c.title, $3, $4) END,
  last_message_preview = CASE WHEN starts_with($3, c.last_message_preview) THEN NULL
    ELSE replace(c.last_message_preview, $3, $4) END
WHERE c.tenant_id = $1 AND c.conversation_id = $2;
-- name: erase_names
-- Removes what is known of the names that a user ($2) has for conversations, or all users of a tenant.
DELETE FROM conversation_names AS n WHERE n.tenant_id = $1 AND ($2::text IS NULL OR n.user_id = $2);
