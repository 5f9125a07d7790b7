-- Whether a vector counts, as in elf/providers/vectors.py: the length of any other says nothing, nor does its cosine.
CREATE OR REPLACE FUNCTION has_direction(vec vector) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN vector_norm(vec) BETWEEN 0.001 AND 1000000;

-- The vectors of chunks: the source of truth for retrieval and rebuild.
-- Vectors stay in the row up to a page (some 2,000 dimensions): exact search then reads no TOAST table.
CREATE TABLE IF NOT EXISTS note_chunk_embeddings (
  chunk_id uuid NOT NULL REFERENCES memory_note_chunks (chunk_id) ON DELETE CASCADE,
  embedding_version text NOT NULL,
  embedding_dim int NOT NULL CONSTRAINT note_chunk_embeddings_dim_matches CHECK (embedding_dim = <vector_dim>),
  vec vector(<vector_dim>) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chunk_id, embedding_version)
) WITH (toast_tuple_target = 8160);
