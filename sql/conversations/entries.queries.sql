-- Entries. A view comes as three arrays: conversations in their order, the number behind which its entries begin, and
-- that of the last one, null for all there are.

-- name: insert_entry
-- Adds an entry to a conversation that is locked, and says so in the conversation.
WITH entry AS (
  INSERT INTO conversation_entries (
    tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
    indexed_content, memory_count, memory_digest, memory_type, created_at
  )
  VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11, $12, $13, $14, $15, $16)
)
UPDATE conversations AS c
SET last_seq = $3, last_entry_at = $16, title = coalesce(c.title, $17),
  last_message_preview = CASE WHEN $8 = 'history' THEN $18 ELSE c.last_message_preview END,
  updated_at = CASE WHEN $8 = 'history' THEN greatest(c.updated_at, $16) ELSE c.updated_at END
WHERE c.tenant_id = $1 AND c.conversation_id = $2;

-- name: locate_entry
-- Where an entry was written.
SELECT e.conversation_id, e.seq, e.channel, e.client_id FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.entry_id = $2;

-- name: entry_at
-- The id of an entry by its place.
SELECT e.entry_id FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.conversation_id = $2 AND e.seq = $3;

-- name: latest_memory
-- The last entry of a client's memory in a view: it is of the latest epoch, and tells how that stands.
SELECT last.epoch, last.memory_count, last.memory_digest, last.memory_type
FROM unnest($3::uuid[], $4::bigint[]) WITH ORDINALITY AS v (conversation_id, ending, place)
CROSS JOIN LATERAL (
  SELECT e.epoch, e.memory_count, e.memory_digest, e.memory_type FROM conversation_entries AS e
  WHERE e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.client_id = $2 AND e.channel = 'memory'
    AND e.seq <= coalesce(v.ending, 9223372036854775807)
  ORDER BY e.seq DESC LIMIT 1
) AS last
ORDER BY v.place DESC LIMIT 1;

-- name: list_view
-- A page of a view: the history ($5), and the memory of a client ($6) of one epoch ($7), or of all where that is null.
SELECT page.*
FROM unnest($2::uuid[], $3::bigint[], $4::bigint[]) WITH ORDINALITY AS v (conversation_id, beginning, ending, place)
CROSS JOIN LATERAL (
  SELECT * FROM (
    (SELECT e.* FROM conversation_entries AS e
     WHERE $5 AND e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.channel = 'history'
       AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
     ORDER BY e.seq LIMIT $8)
    UNION ALL
    (SELECT e.* FROM conversation_entries AS e
     WHERE e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.client_id = $6 AND e.channel = 'memory'
       AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
       AND ($7::int IS NULL OR e.epoch = $7)
     ORDER BY e.seq LIMIT $8)
  ) AS shown ORDER BY shown.seq LIMIT $8
) AS page
ORDER BY v.place, page.seq LIMIT $8;

-- name: list_tree_entries
-- A page of all entries of a tree, behind a moment and an id: the history ($4), and the memory of a client ($5).
SELECT e.* FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.tree_id = $2 AND (e.created_at, e.entry_id) > ($7, $8)
  AND (e.channel = 'history' AND $4 OR e.channel = 'memory' AND e.client_id = $5 AND ($6::int IS NULL OR e.epoch = $6))
ORDER BY e.created_at, e.entry_id LIMIT $3;

-- name: moment_of_entry
-- When an entry of a tree was written that a client may see: the history, and its own memory.
SELECT e.created_at FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.tree_id = $2 AND e.entry_id = $3
  AND (e.channel = 'history' OR e.client_id = $4);
