-- The stems of a text's English words. What joins words (tea/coffee, max_tokens, 10:30, Ann's) parts them here: Postgres
-- would take some of it for paths, hosts and tags, which are no words to search for.
CREATE OR REPLACE FUNCTION note_words(text text) RETURNS tsvector
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('pg_catalog.english', translate(text, '/.@:-+_&<>=?#%~''’', '                 '));

-- The chunks of notes; offsets are code points into the note's text. The words serve exact search, while the index is
-- away; they have no index, because it goes through the chunks of one project.
CREATE TABLE IF NOT EXISTS memory_note_chunks (
  chunk_id uuid PRIMARY KEY,
  note_id uuid NOT NULL REFERENCES memory_notes (note_id) ON DELETE CASCADE,
  chunk_index int NOT NULL CONSTRAINT memory_note_chunks_index_range CHECK (chunk_index >= 0),
  start_offset int NOT NULL,
  end_offset int NOT NULL,
  text text NOT NULL,
  embedding_version text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  words tsvector NOT NULL GENERATED ALWAYS AS (note_words(text)) STORED,
  CONSTRAINT memory_note_chunks_offsets_ordered CHECK (0 <= start_offset AND start_offset < end_offset)
);

-- By which rule and numbers the note was cut; null is unknown.
ALTER TABLE memory_note_chunks ADD COLUMN IF NOT EXISTS chunking text NULL;

CREATE INDEX IF NOT EXISTS idx_note_chunks_note ON memory_note_chunks (note_id);

-- Unique: a note has one chunk at each place.
CREATE UNIQUE INDEX IF NOT EXISTS idx_note_chunks_note_index ON memory_note_chunks (note_id, chunk_index);
