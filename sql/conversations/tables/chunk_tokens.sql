-- The token vectors of chunks, as those of notes (note_chunk_tokens).
CREATE TABLE IF NOT EXISTS conversations_chunk_tokens (
  chunk_id uuid PRIMARY KEY REFERENCES conversations_chunks (chunk_id) ON DELETE CASCADE,
  version text NOT NULL,
  digest bytea NOT NULL,
  tokens int NOT NULL CONSTRAINT conversations_chunk_tokens_range CHECK (tokens >= 0),
  vectors bytea NOT NULL
) WITH (toast_tuple_target = 8160);

ALTER TABLE conversations_chunk_tokens ALTER COLUMN vectors SET STORAGE EXTERNAL;
