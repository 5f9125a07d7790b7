-- Entries. A view comes as three arrays: conversations in their order, the number behind which its entries begin, and
-- that of the last one, null for all there are. A page of entries ends where their contents would have more than 16 Mi
-- characters, but for the first one; `found` is how many it would have without that. What takes more than this as it is
-- stored is not looked at.

-- name: write_entry
-- Adds an entry behind the last of a conversation and later than that, for a member ($3) of one of these levels ($4),
-- and says so in the conversation; with the text by which it is found, where it has one ($19, its words $20), and the
-- job that brings that into the index. Other writers wait, the tree is not deleted and the member stays meanwhile.
WITH place AS (
  SELECT c.conversation_id, c.tree_id, c.last_seq + 1 AS seq, t.creator,
    greatest($15::timestamptz, c.last_entry_at + interval '1 microsecond') AS moment
  FROM conversations AS c
  JOIN conversation_trees AS t ON t.tenant_id = c.tenant_id AND t.tree_id = c.tree_id
  JOIN conversation_memberships AS m ON m.tenant_id = c.tenant_id AND m.tree_id = c.tree_id AND m.user_id = $3
  WHERE c.tenant_id = $1 AND c.conversation_id = $2 AND t.deleted_at IS NULL AND m.access_level = ANY ($4::text[])
  FOR KEY SHARE OF t, m FOR NO KEY UPDATE OF c
), entry AS (
  INSERT INTO conversation_entries (
    tenant_id, conversation_id, seq, entry_id, tree_id, user_id, client_id, channel, epoch, content_type, content,
    is_indexed, memory_count, memory_digest, memory_type, session_key, created_at
  )
  SELECT $1, p.conversation_id, p.seq, $5, p.tree_id, $6, $7, $8, $9, $10, $11, $19::text IS NOT NULL, $12, $13, $14,
    $22, p.moment
  FROM place AS p
), found_by AS (
  INSERT INTO conversation_texts (
    tenant_id, conversation_id, seq, entry_id, tree_id, creator, role, text, words, embedding_version, said_at,
    created_at, changed_at
  )
  SELECT $1, p.conversation_id, p.seq, $5, p.tree_id, p.creator, $18, $19, conversation_words($20), $21, p.moment,
    p.moment, p.moment
  FROM place AS p WHERE $19 IS NOT NULL
), job AS (
  INSERT INTO conversations_indexing_outbox (outbox_id, subject_id, op, embedding_version, status, lane)
  SELECT gen_random_uuid(), $5, 'UPSERT', $21, 'PENDING', hashtextextended($1, 0) FROM place WHERE $19 IS NOT NULL
)
UPDATE conversations AS c
SET last_seq = p.seq, last_entry_at = p.moment, title = coalesce(c.title, $16),
  titled_by = CASE WHEN c.title IS NULL AND $16 IS NOT NULL THEN $6 ELSE c.titled_by END,
  last_message_preview = CASE WHEN $8 = 'history' THEN $17 ELSE c.last_message_preview END,
  updated_at = CASE WHEN $8 = 'history' THEN greatest(c.updated_at, p.moment) ELSE c.updated_at END
FROM place AS p WHERE c.tenant_id = $1 AND c.conversation_id = p.conversation_id
RETURNING p.moment;

-- name: locate_entry
-- Where an entry was written.
SELECT e.conversation_id, e.seq, e.channel, e.client_id FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.entry_id = $2;

-- name: read_entry
-- An entry for a member of its tree ($3): of the history, or of the memory of a client ($4).
SELECT e.* FROM conversation_entries AS e
JOIN conversation_trees AS t ON t.tenant_id = e.tenant_id AND t.tree_id = e.tree_id AND t.deleted_at IS NULL
JOIN conversation_memberships AS m ON m.tenant_id = e.tenant_id AND m.tree_id = e.tree_id AND m.user_id = $3
WHERE e.tenant_id = $1 AND e.entry_id = $2 AND (e.channel = 'history' OR e.client_id = $4);

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
        SELECT * FROM (
          (SELECT e.* FROM conversation_entries AS e
           WHERE $5 AND e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.channel = 'history'
             AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
           ORDER BY e.seq LIMIT $8)
          UNION ALL
          (SELECT e.* FROM conversation_entries AS e
           WHERE $7::int IS NULL AND e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.client_id = $6
             AND e.channel = 'memory'
             AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
           ORDER BY e.seq LIMIT $8)
          UNION ALL
          (SELECT e.* FROM conversation_entries AS e
           WHERE e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.client_id = $6 AND e.epoch = $7
             AND e.channel = 'memory'
             AND e.seq > v.beginning AND e.seq <= coalesce(v.ending, 9223372036854775807)
           ORDER BY e.seq LIMIT $8)
        ) AS shown ORDER BY shown.seq LIMIT $8
      ) AS page
      ORDER BY v.place, page.seq LIMIT $8
    ) AS p WINDOW place AS (ORDER BY p.place, p.seq)
  ) AS s
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;

-- name: list_view_backwards
-- A page of a view from its end on, newest first: the history ($4), or the memory of a client ($5) of an epoch ($6). How
-- many characters each content has is said of all; it comes where it fits into $8 with those that are newer, and of the
-- newest where $9 says so.
WITH page AS MATERIALIZED (
  SELECT shown.*, v.place
  FROM unnest($2::uuid[], $3::bigint[]) WITH ORDINALITY AS v (conversation_id, ending, place)
  CROSS JOIN LATERAL (
    (SELECT e.* FROM conversation_entries AS e
     WHERE $4 AND e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.channel = 'history'
       AND e.seq <= coalesce(v.ending, 9223372036854775807)
     ORDER BY e.seq DESC LIMIT $7)
    UNION ALL
    (SELECT e.* FROM conversation_entries AS e
     WHERE NOT $4 AND e.tenant_id = $1 AND e.conversation_id = v.conversation_id AND e.client_id = $5
       AND e.channel = 'memory' AND e.seq <= coalesce(v.ending, 9223372036854775807) AND e.epoch = $6
     ORDER BY e.seq DESC LIMIT $7)
  ) AS shown
  ORDER BY v.place DESC, shown.seq DESC LIMIT $7
), sized AS (
  SELECT
    p.entry_id, length(p.content::text) AS chars,
    row_number() OVER newest_first AS place,
    sum(length(p.content::text)) OVER newest_first AS chars_together
  FROM page AS p WINDOW newest_first AS (ORDER BY p.place DESC, p.seq DESC)
)
SELECT
  p.conversation_id, p.seq, p.entry_id, p.user_id, p.client_id, p.channel, p.epoch, p.content_type, p.created_at, s.chars,
  CASE WHEN s.chars_together <= $8 OR ($9 AND s.place = 1) THEN p.content END AS content
FROM sized AS s JOIN page AS p ON p.entry_id = s.entry_id
ORDER BY s.place;

-- name: list_tree_entries
-- A page of all entries of a tree, behind a moment and an id: the history ($4), and the memory of a client ($5).
SELECT f.* FROM (
  SELECT s.*, sum(CASE WHEN s.stored_bytes <= 16777216 THEN length(s.content::text) ELSE 16777216 END)
    OVER (ORDER BY s.number) AS chars
  FROM (
    SELECT p.*, count(*) OVER () AS found, row_number() OVER place AS number,
      sum(pg_column_size(p.content)) OVER place AS stored_bytes
    FROM (
      SELECT e.* FROM conversation_entries AS e
      WHERE e.tenant_id = $1 AND e.tree_id = $2 AND (e.created_at, e.entry_id) > ($7, $8)
        AND (e.channel = 'history' AND $4 OR e.channel = 'memory' AND e.client_id = $5 AND ($6::int IS NULL OR e.epoch = $6))
      ORDER BY e.created_at, e.entry_id LIMIT $3
    ) AS p WINDOW place AS (ORDER BY p.created_at, p.entry_id)
  ) AS s
) AS f
WHERE f.chars <= 16777216 OR f.number = 1 ORDER BY f.number;

-- name: moment_of_entry
-- When an entry of a tree was written that a client may see: the history, and its own memory.
SELECT e.created_at FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.tree_id = $2 AND e.entry_id = $3
  AND (e.channel = 'history' OR e.client_id = $4);

-- name: clients_of_entries
-- The clients that wrote some entries ($2), of those that were written by one.
SELECT e.entry_id, e.client_id FROM conversation_entries AS e
WHERE e.tenant_id = $1 AND e.entry_id = ANY ($2::uuid[]) AND e.client_id <> '';
