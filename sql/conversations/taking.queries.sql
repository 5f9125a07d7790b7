-- What is taken along, and taken in by another service. Trees that are being evicted are gone already. Entries are read up
-- to the number that their conversation told: what is said meanwhile is not of the export.

-- name: export_trees
-- The next $4 trees of a tenant behind $3, of one owner ($2) or of all.
SELECT t.tenant_id, t.tree_id, t.owner_user_id, t.creator, t.created_at, t.deleted_at FROM conversation_trees AS t
WHERE t.tenant_id = $1 AND ($2::text IS NULL OR t.owner_user_id = $2) AND t.tree_id > $3
  AND t.deleted_at IS DISTINCT FROM '-infinity'
ORDER BY t.tree_id LIMIT $4;

-- name: export_transfer
-- The transfer that a tree waits for.
SELECT x.transfer_id, x.conversation_id, x.from_user_id, x.to_user_id, x.created_at FROM conversation_transfers AS x
WHERE x.tenant_id = $1 AND x.tree_id = $2;

-- name: export_conversations
-- The next $4 conversations of a tree behind $3.
SELECT
  c.tenant_id, c.tree_id, c.conversation_id, c.title, c.titled_by, c.metadata, c.forked_at_conversation_id,
  c.forked_at_entry_id, c.ancestors, c.ancestor_ends, c.last_seq, c.last_entry_at, c.last_message_preview, c.created_at,
  c.updated_at, n.name_id, coalesce(n.generation, 0) AS generation
FROM conversations AS c
LEFT JOIN conversation_names AS n ON n.tenant_id = c.tenant_id AND n.conversation_id = c.conversation_id
WHERE c.tenant_id = $1 AND c.tree_id = $2 AND c.conversation_id > $3
ORDER BY c.conversation_id LIMIT $4;

-- name: export_entries
-- The next entries of a conversation behind number $3 and up to $4, with their texts: $5 at most, and fewer of large ones.
SELECT p.*, x.text
FROM (
  SELECT s.*, sum(length(s.content::text)) OVER (ORDER BY s.seq) - length(s.content::text) AS chars_before
  FROM (
    SELECT e.*, sum(pg_column_size(e.content)) OVER (ORDER BY e.seq) - pg_column_size(e.content) AS bytes_before
    FROM conversation_entries AS e
    WHERE e.tenant_id = $1 AND e.conversation_id = $2 AND e.seq > $3 AND e.seq <= $4 ORDER BY e.seq LIMIT $5
  ) AS s
  WHERE s.bytes_before < 4194304
) AS p
LEFT JOIN LATERAL (
  SELECT s.text FROM conversation_texts AS s WHERE s.entry_id = p.entry_id AND s.tenant_id = p.tenant_id OFFSET 0
) AS x ON true
WHERE p.chars_before < 4194304 ORDER BY p.seq;

-- name: export_memberships
-- The next $4 memberships of a user behind tree $3, in trees of others.
SELECT m.tenant_id, m.tree_id, m.user_id, m.access_level, m.created_at FROM conversation_memberships AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND m.access_level <> 'owner' AND m.tree_id > $3 ORDER BY m.tree_id LIMIT $4;

-- name: export_entries_of_user
-- The next entries of a user in a tree ($3) of another, behind a conversation and a number, as export_entries returns them.
SELECT p.*, x.text
FROM (
  SELECT s.*, sum(length(s.content::text)) OVER (ORDER BY s.conversation_id, s.seq) - length(s.content::text) AS chars_before
  FROM (
    SELECT e.*, sum(pg_column_size(e.content)) OVER place - pg_column_size(e.content) AS bytes_before
    FROM conversation_entries AS e
    WHERE e.tenant_id = $1 AND e.user_id = $2 AND e.tree_id = $3 AND (e.conversation_id, e.seq) > ($4, $5)
      AND EXISTS (
        SELECT FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $3 AND t.owner_user_id <> $2
          AND t.deleted_at IS DISTINCT FROM '-infinity')
    WINDOW place AS (ORDER BY e.conversation_id, e.seq)
    ORDER BY e.conversation_id, e.seq LIMIT $6
  ) AS s
  WHERE s.bytes_before < 4194304
) AS p
LEFT JOIN LATERAL (
  SELECT s.text FROM conversation_texts AS s WHERE s.entry_id = p.entry_id AND s.tenant_id = p.tenant_id OFFSET 0
) AS x ON true
WHERE p.chars_before < 4194304 ORDER BY p.conversation_id, p.seq;

-- name: export_entries_of_client
-- The same of the memory of a client, in any tree.
SELECT p.*, NULL::text AS text
FROM (
  SELECT s.*, sum(length(s.content::text)) OVER (ORDER BY s.conversation_id, s.seq) - length(s.content::text) AS chars_before
  FROM (
    SELECT e.*, sum(pg_column_size(e.content)) OVER place - pg_column_size(e.content) AS bytes_before
    FROM conversation_entries AS e
    WHERE e.tenant_id = $1 AND e.client_id = $2 AND e.tree_id = $3 AND (e.conversation_id, e.seq) > ($4, $5)
      AND e.channel = 'memory' AND EXISTS (
        SELECT FROM conversation_trees AS t
        WHERE t.tenant_id = $1 AND t.tree_id = $3 AND t.deleted_at IS DISTINCT FROM '-infinity')
    WINDOW place AS (ORDER BY e.conversation_id, e.seq)
    ORDER BY e.conversation_id, e.seq LIMIT $6
  ) AS s
  WHERE s.bytes_before < 4194304
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.conversation_id, p.seq;

-- name: lock_intake
-- Waits until nobody else takes conversations in, of whatever tenant, and keeps others from it until the transaction ends:
-- of two tenants that take the same ids in at once, one has to be given others.
SELECT pg_advisory_xact_lock(hashtextextended('conversations are taken in', 0));

-- name: trees_of_others
-- Those of some trees that other tenants have, too: their entries are there under their ids.
SELECT DISTINCT t.tree_id FROM conversation_trees AS t WHERE t.tree_id = ANY ($2::uuid[]) AND t.tenant_id <> $1;

-- name: known_entries
-- Those of entries that this tenant has, and those whose text another one has, in whatever tree.
SELECT e.entry_id, true AS is_own FROM conversation_entries AS e WHERE e.tenant_id = $1 AND e.entry_id = ANY ($2::uuid[])
UNION ALL
SELECT t.entry_id, false FROM conversation_texts AS t WHERE t.tenant_id <> $1 AND t.entry_id = ANY ($2::uuid[]);

-- name: take_in_tree
-- Adds a tree with its members ($7, their levels, and since when) and its transfer ($10), unless it is there.
WITH tree AS (
  INSERT INTO conversation_trees (tenant_id, tree_id, owner_user_id, creator, created_at, deleted_at)
  VALUES ($1, $2, $3, $4, $5, $6) ON CONFLICT DO NOTHING
  RETURNING tree_id
), members AS (
  INSERT INTO conversation_memberships (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
  SELECT $1, t.tree_id, m.user_id, m.level, m.user_id = $4, m.created_at
  FROM tree AS t CROSS JOIN unnest($7::text[], $8::text[], $9::timestamptz[]) AS m (user_id, level, created_at)
  ON CONFLICT DO NOTHING
  RETURNING 1
), transfer AS (
  INSERT INTO conversation_transfers (
    tenant_id, transfer_id, tree_id, conversation_id, from_user_id, to_user_id, created_at
  )
  SELECT $1, $10, t.tree_id, $11, $12, $13, $14 FROM tree AS t WHERE $10::uuid IS NOT NULL ON CONFLICT DO NOTHING
  RETURNING 1
)
SELECT count(*) FROM tree;

-- name: take_in_conversation
-- Adds a conversation to its tree, unless it is there, with the name that it was the generation $17 of, if any. One that
-- is deleted has its name stand for the next. Returns how many conversations that are.
WITH conversation AS (
  INSERT INTO conversations (
    tenant_id, tree_id, conversation_id, title, titled_by, metadata, forked_at_conversation_id, forked_at_entry_id,
    ancestors, ancestor_ends, last_seq, last_entry_at, last_message_preview, created_at, updated_at
  )
  SELECT $1, t.tree_id, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15 FROM conversation_trees AS t
  WHERE t.tenant_id = $1 AND t.tree_id = $2 AND t.deleted_at IS DISTINCT FROM '-infinity'
  ON CONFLICT DO NOTHING
  RETURNING 1
), name AS (
  INSERT INTO conversation_names AS n (tenant_id, name_id, user_id, generation, conversation_id)
  SELECT $1, s.name_id, s.owner_user_id, s.generation, conversation_of_generation(s.name_id, s.generation)
  FROM (
    SELECT t.owner_user_id, coalesce($16::uuid, $3) AS name_id,
      CASE WHEN t.deleted_at IS NULL THEN $17::int ELSE $17::int + 1 END AS generation
    FROM conversation_trees AS t
    WHERE t.tenant_id = $1 AND t.tree_id = $2 AND EXISTS (SELECT FROM conversation)
      AND ($16::uuid IS NOT NULL OR substr($3::text, 15, 1) = '5')
  ) AS s
  WHERE s.generation > 0
  ON CONFLICT (tenant_id, name_id) DO UPDATE
  SET generation = excluded.generation, conversation_id = excluded.conversation_id
  WHERE n.generation < excluded.generation
)
SELECT count(*) FROM conversation;

-- name: take_in_entries
-- Adds entries to their conversations, as far as these count them, and have none of their numbers yet; with the texts by
-- which they are found, and their words. Returns the new ones, and which of them have a text.
WITH given AS MATERIALIZED (
  SELECT g.*, c.tree_id, t.creator
  FROM unnest(
    $2::uuid[], $3::bigint[], $4::uuid[], $5::text[], $6::text[], $7::text[], $8::int[], $9::text[], $10::text[],
    $11::int[], $12::bytea[], $13::text[], $14::boolean[], $15::timestamptz[], $16::text[], $17::text[], $18::text[],
    $19::text[]
  ) AS g (
    conversation_id, seq, entry_id, user_id, client_id, channel, epoch, content_type, content, memory_count,
    memory_digest, memory_type, is_erased, created_at, role, text, words, session_key
  )
  JOIN conversations AS c ON c.tenant_id = $1 AND c.conversation_id = g.conversation_id AND g.seq <= c.last_seq
  JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
    AND t.deleted_at IS DISTINCT FROM '-infinity'
), entry AS (
  INSERT INTO conversation_entries (
    tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
    is_indexed, memory_count, memory_digest, memory_type, is_erased, session_key, created_at
  )
  SELECT $1, g.conversation_id, g.seq, g.entry_id, g.tree_id, g.user_id, g.client_id, g.channel, g.epoch,
    g.content_type, g.content::json, g.channel = 'history' AND (g.text IS NOT NULL OR g.is_erased), g.memory_count,
    g.memory_digest, g.memory_type, g.is_erased, g.session_key, g.created_at
  FROM given AS g ON CONFLICT DO NOTHING
  RETURNING entry_id
), found_by AS (
  INSERT INTO conversation_texts (
    tenant_id, conversation_id, seq, entry_id, tree_id, creator, role, text, words, embedding_version, said_at,
    created_at, changed_at
  )
  SELECT $1, g.conversation_id, g.seq, g.entry_id, g.tree_id, g.creator, g.role, g.text, conversation_words(g.words),
    $20, g.created_at, now(), now()
  FROM entry AS e JOIN given AS g ON g.entry_id = e.entry_id WHERE g.text IS NOT NULL
  ON CONFLICT DO NOTHING
  RETURNING entry_id
)
SELECT e.entry_id, x.entry_id IS NOT NULL AS has_text FROM entry AS e LEFT JOIN found_by AS x ON x.entry_id = e.entry_id;

-- name: conversations_of_owner
-- The next $4 conversations of trees that a user owns, deleted ones too, behind $3.
SELECT c.conversation_id FROM conversations AS c
WHERE c.tenant_id = $1 AND c.conversation_id > $3 AND c.tree_id IN (
  SELECT t.tree_id FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.owner_user_id = $2)
ORDER BY c.conversation_id LIMIT $4;

-- name: export_sessions
-- The next sessions of a user ($2), or of all users of a tenant, behind that of a user ($3) and a name ($4), in trees that
-- are not being evicted: $5 at most, and fewer of large ones.
SELECT
  p.tenant_id, p.tree_id, p.user_id, p.session_id, p.conversation_id, p.entry_id, p.data, p.revision, p.created_at,
  p.updated_at
FROM (
  SELECT c.*, sum(length(c.data::text)) OVER place - length(c.data::text) AS chars_before
  FROM (
    SELECT s.*, sum(pg_column_size(s.data)) OVER place - pg_column_size(s.data) AS bytes_before
    FROM conversation_sessions AS s
    JOIN conversation_trees AS t ON t.tenant_id = s.tenant_id AND t.tree_id = s.tree_id
      AND t.deleted_at IS DISTINCT FROM '-infinity'
    WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.user_id = $2) AND (s.user_id, s.session_id) > ($3, $4)
    WINDOW place AS (ORDER BY s.user_id, s.session_id)
    ORDER BY s.user_id, s.session_id LIMIT $5
  ) AS c
  WHERE c.bytes_before < 4194304 WINDOW place AS (ORDER BY c.user_id, c.session_id)
) AS p
WHERE p.chars_before < 4194304 ORDER BY p.user_id, p.session_id;

-- name: take_in_session
-- Adds a session whose conversation is there, unless its user has one of this name. Returns how many that are.
WITH session AS (
  INSERT INTO conversation_sessions (
    tenant_id, user_id, session_id, tree_id, conversation_id, entry_id, data, revision, created_at, updated_at
  )
  SELECT $1, $2, $3, c.tree_id, c.conversation_id, $5, $6, $7, $8, $9
  FROM conversations AS c
  JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
    AND t.deleted_at IS DISTINCT FROM '-infinity'
  WHERE c.tenant_id = $1 AND c.conversation_id = $4
  ON CONFLICT DO NOTHING RETURNING 1
)
SELECT count(*) FROM session;
