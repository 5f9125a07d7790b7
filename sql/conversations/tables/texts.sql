-- The texts by which entries of histories are found. They go with their entries, and may be replaced; entries never change.
--
-- `words` are those of elf/families/conversations/rules/words.py, as they are and stemmed. `creator` is who began the tree:
-- that never changes, as its owner may. `said_at` is when the entry was written, `created_at` when it got a text.
CREATE TABLE IF NOT EXISTS conversation_texts (
  entry_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  tree_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  seq bigint NOT NULL,
  creator text NOT NULL,
  role text NULL,
  text text NOT NULL,
  words tsvector NOT NULL,
  embedding_version text NOT NULL,
  said_at timestamptz NOT NULL,
  created_at timestamptz NOT NULL,
  changed_at timestamptz NOT NULL,
  FOREIGN KEY (tenant_id, conversation_id, seq) REFERENCES conversation_entries ON DELETE CASCADE
);
CREATE UNIQUE INDEX IF NOT EXISTS idx_conversation_texts_place ON conversation_texts (tenant_id, conversation_id, seq);
CREATE INDEX IF NOT EXISTS idx_conversation_texts_tree ON conversation_texts (tenant_id, tree_id);
CREATE INDEX IF NOT EXISTS idx_conversation_texts_words ON conversation_texts USING gin (words);

-- Those of deleted trees stay in the index until they are evicted; searches leave them out.
CREATE OR REPLACE VIEW conversations_corpus AS
SELECT x.entry_id AS subject_id, x.text, x.created_at, x.changed_at, true AS is_active, NULL::timestamptz AS expires_at,
  x.embedding_version, x.tenant_id, x.tree_id, x.creator
FROM conversation_texts AS x;

-- The words of a text: as they are, and stemmed as English ones.
CREATE OR REPLACE FUNCTION conversation_words(spaced text) RETURNS tsvector
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN to_tsvector('simple', spaced) || to_tsvector('english', spaced);

-- What finds words by their beginnings, as they are or stemmed: all of them, or any, as `joined` says (& or |). Null when
-- there is none.
CREATE OR REPLACE FUNCTION conversation_query(words text[], joined text) RETURNS tsquery
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN (
  SELECT string_agg(
    CASE WHEN numnode(stemmed) = 0 THEN written::text ELSE '(' || written::text || ' | ' || stemmed::text || ')' END,
    joined)::tsquery
  FROM unnest(words) AS w (word)
  CROSS JOIN LATERAL to_tsquery('simple', w.word || ':*') AS written
  CROSS JOIN LATERAL to_tsquery('english', w.word || ':*') AS stemmed
  WHERE numnode(written) > 0
);
