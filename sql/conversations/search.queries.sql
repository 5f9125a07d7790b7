-- Finding entries by their texts. Whoever asks is a user ($2), who finds what is in trees that the user is a member of, or
-- an operator (null), who finds all: of one owner ($3), where that is given, and of deleted trees, too, where $4 says so.

-- name: trees_shared_with
-- The trees that a user is a member of and did not begin.
SELECT coalesce(array_agg(m.tree_id::text), '{}') FROM conversation_memberships AS m
WHERE m.tenant_id = $1 AND m.user_id = $2 AND NOT m.is_creator;

-- name: trees_taken_over
-- The trees that a user owns and did not begin.
SELECT coalesce(array_agg(t.tree_id::text), '{}') FROM conversation_trees AS t
WHERE t.tenant_id = $1 AND t.owner_user_id = $2 AND t.creator <> $2;

-- name: read_passages
-- The chunks ($5) of the active embedding version ($6) that are there and may be found, each with its entry, looked up by
-- id whatever the planner believes. The token vectors of version $7, if there are any, come along until they are those
-- of $8 words, those of up to $9 words first, in the order of the chunks given. What was said before $10, or at $11 or
-- later, is left out, where these are given.
WITH wanted AS MATERIALIZED (
  SELECT c.chunk_id, c.subject_id, c.text, array_position($5::uuid[], c.chunk_id) AS place
  FROM conversations_chunks AS c WHERE c.chunk_id = ANY ($5::uuid[]) AND c.embedding_version = $6
)
SELECT
  x.entry_id, x.conversation_id, x.seq, x.role, x.said_at, x.changed_at, length(x.text) AS chars, c.chunk_id,
  c.text, k.digest, k.tokens,
  CASE WHEN sum(k.tokens) OVER (ORDER BY k.tokens > $9, c.place) - k.tokens < $8 THEN k.vectors END AS vectors
FROM wanted AS c
CROSS JOIN LATERAL (
  SELECT s.* FROM conversation_texts AS s WHERE s.entry_id = c.subject_id AND s.tenant_id = $1 OFFSET 0) AS x
CROSS JOIN LATERAL (
  SELECT s.* FROM conversation_trees AS s WHERE s.tenant_id = $1 AND s.tree_id = x.tree_id OFFSET 0) AS t
LEFT JOIN LATERAL (
  SELECT s.digest, s.tokens, s.vectors FROM conversations_chunk_tokens AS s
  WHERE s.chunk_id = c.chunk_id AND s.version = $7 OFFSET 0) AS k ON true
WHERE ($10::timestamptz IS NULL OR x.said_at >= $10) AND ($11::timestamptz IS NULL OR x.said_at < $11)
  AND (t.deleted_at IS NULL OR $4 AND t.deleted_at > '-infinity') AND ($3::text IS NULL OR t.owner_user_id = $3)
  AND ($2::text IS NULL OR EXISTS (
    SELECT FROM conversation_memberships AS m
    WHERE m.tenant_id = $1 AND m.tree_id = x.tree_id AND m.user_id = $2));

-- name: read_beginnings
-- How texts of entries begin that were found for one who may find them.
SELECT x.entry_id, x.conversation_id, x.seq, x.role, x.said_at, x.changed_at, length(x.text) AS chars,
  left(x.text, 1000) AS text
FROM conversation_texts AS x WHERE x.tenant_id = $1 AND x.entry_id = ANY ($2::uuid[]);

-- name: find_waiting
-- The best $6 texts that the index does not have and that have any of the words $5: those with the greatest share of the
-- words, then the newest. They are on their way there, or their jobs were given up. What was said before $7, or at $8 or
-- later, is left out, where these are given.
WITH asked AS MATERIALIZED (
  SELECT conversation_query($5, '|') AS any_word
), words AS MATERIALIZED (
  SELECT conversation_query(ARRAY[w.word], '|') AS word FROM unnest($5::text[]) AS w (word)
), best AS MATERIALIZED (
  SELECT x.entry_id, x.said_at, share.of_words
  FROM asked AS a
  JOIN conversation_texts AS x ON x.tenant_id = $1 AND x.words @@ a.any_word
  JOIN conversation_trees AS t ON t.tenant_id = x.tenant_id AND t.tree_id = x.tree_id
  CROSS JOIN LATERAL (SELECT avg((x.words @@ w.word)::int)::float8 AS of_words FROM words AS w) AS share
  WHERE ($7::timestamptz IS NULL OR x.said_at >= $7) AND ($8::timestamptz IS NULL OR x.said_at < $8)
    AND (t.deleted_at IS NULL OR $4 AND t.deleted_at > '-infinity') AND ($3::text IS NULL OR t.owner_user_id = $3)
    AND ($2::text IS NULL OR EXISTS (
      SELECT FROM conversation_memberships AS m
      WHERE m.tenant_id = $1 AND m.tree_id = x.tree_id AND m.user_id = $2))
    AND EXISTS (
      SELECT FROM conversations_indexing_outbox AS o
      WHERE o.subject_id = x.entry_id AND o.status <> 'DONE')
  ORDER BY share.of_words DESC, x.said_at DESC, x.entry_id DESC LIMIT $6
)
SELECT
  x.entry_id, x.conversation_id, x.seq, x.role, x.said_at, x.changed_at, length(x.text) AS chars,
  left(x.text, 1000) AS text, b.of_words AS share
FROM best AS b JOIN conversation_texts AS x ON x.entry_id = b.entry_id AND x.tenant_id = $1
ORDER BY b.of_words DESC, b.said_at DESC, b.entry_id DESC;

-- name: find_by_words
-- The best texts of a user's trees that have the words $3, all of them (&) or any (|), as $4 says; of each conversation
-- the best alone where $5 says so: $7 of them, behind the first $6. What was said before $8, or at $9 or later, is left
-- out, where these are given.
WITH asked AS MATERIALIZED (SELECT conversation_query($3, $4) AS query), hits AS MATERIALIZED (
  SELECT x.entry_id, x.conversation_id, x.said_at, ts_rank(x.words, a.query, 32)::float8 AS score
  FROM asked AS a
  JOIN conversation_texts AS x ON x.tenant_id = $1 AND x.words @@ a.query
  JOIN conversation_memberships AS m ON m.tenant_id = $1 AND m.tree_id = x.tree_id AND m.user_id = $2
  WHERE ($8::timestamptz IS NULL OR x.said_at >= $8) AND ($9::timestamptz IS NULL OR x.said_at < $9)
), best AS (
  SELECT DISTINCT ON (CASE WHEN $5 THEN h.conversation_id ELSE h.entry_id END) h.* FROM hits AS h
  ORDER BY CASE WHEN $5 THEN h.conversation_id ELSE h.entry_id END, h.score DESC, h.said_at DESC, h.entry_id DESC
)
SELECT b.entry_id, b.conversation_id, b.said_at, b.score FROM best AS b
ORDER BY b.score DESC, b.said_at DESC, b.entry_id DESC OFFSET $6 LIMIT $7;

-- name: find_all_by_words
-- The same for an operator: of the trees of an owner ($2), where that is given, and of deleted ones, where $8 says so.
WITH asked AS MATERIALIZED (SELECT conversation_query($3, $4) AS query), hits AS MATERIALIZED (
  SELECT x.entry_id, x.conversation_id, x.said_at, ts_rank(x.words, a.query, 32)::float8 AS score
  FROM asked AS a
  JOIN conversation_texts AS x ON x.tenant_id = $1 AND x.words @@ a.query
  JOIN conversation_trees AS t ON t.tenant_id = $1 AND t.tree_id = x.tree_id
  WHERE (t.deleted_at IS NULL OR $8 AND t.deleted_at > '-infinity') AND ($2::text IS NULL OR t.owner_user_id = $2)
), best AS (
  SELECT DISTINCT ON (CASE WHEN $5 THEN h.conversation_id ELSE h.entry_id END) h.* FROM hits AS h
  ORDER BY CASE WHEN $5 THEN h.conversation_id ELSE h.entry_id END, h.score DESC, h.said_at DESC, h.entry_id DESC
)
SELECT b.entry_id, b.conversation_id, b.said_at, b.score FROM best AS b
ORDER BY b.score DESC, b.said_at DESC, b.entry_id DESC OFFSET $6 LIMIT $7;

-- name: read_found
-- Entries that were found, in the order of their ids, each with the title of its conversation. Their contents only where $3 says so, and then no more entries than have 16 Mi characters of it, but the first one;
-- `found` is how many there are.
WITH found AS (
  SELECT
    e.conversation_id, e.entry_id, e.user_id, e.client_id, e.channel, e.epoch, e.content_type, e.content, e.created_at,
    c.title, f.place,
    sum(CASE WHEN $3 THEN pg_column_size(e.content) ELSE 0 END) OVER (ORDER BY f.place) AS stored_bytes
  FROM unnest($2::uuid[]) WITH ORDINALITY AS f (entry_id, place)
  JOIN conversation_entries AS e ON e.tenant_id = $1 AND e.entry_id = f.entry_id
  JOIN conversations AS c ON c.tenant_id = e.tenant_id AND c.conversation_id = e.conversation_id
  JOIN conversation_texts AS x ON x.entry_id = e.entry_id AND x.tenant_id = e.tenant_id
), sized AS (
  SELECT f.*, sum(CASE WHEN NOT $3 THEN 0 WHEN f.stored_bytes <= 16777216 THEN length(f.content::text) ELSE 16777216 END)
    OVER (ORDER BY f.place) AS chars, row_number() OVER (ORDER BY f.place) AS number, count(*) OVER () AS found
  FROM found AS f
)
SELECT
  s.conversation_id, s.entry_id, s.user_id, s.client_id, s.channel, s.epoch, s.content_type,
  CASE WHEN $3 THEN s.content END AS content, s.created_at, s.title, s.found
FROM sized AS s
WHERE s.chars <= 16777216 OR s.number = 1 ORDER BY s.place;

-- name: read_texts
-- The whole texts by which some entries are found.
SELECT x.entry_id, x.text FROM conversation_texts AS x WHERE x.tenant_id = $1 AND x.entry_id = ANY ($2::uuid[]);
