-- The token vectors of chunks, which late interaction compares: of chunk texts with this digest, made by this version, as
-- elf/providers/token_vectors.py writes them, 388 bytes a token. Those of short notes stay in the row up to a page:
-- a search then reads no TOAST table. They are not compressed: they would not become smaller.
CREATE TABLE IF NOT EXISTS note_chunk_tokens (
  chunk_id uuid PRIMARY KEY REFERENCES memory_note_chunks (chunk_id) ON DELETE CASCADE,
  version text NOT NULL,
  digest bytea NOT NULL,
  tokens int NOT NULL CONSTRAINT note_chunk_tokens_range CHECK (tokens >= 0),
  vectors bytea NOT NULL
) WITH (toast_tuple_target = 8160);

ALTER TABLE note_chunk_tokens ALTER COLUMN vectors SET STORAGE EXTERNAL;
