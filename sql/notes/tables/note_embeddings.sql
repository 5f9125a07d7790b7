-- The pooled vector of each note, derived from its chunks' vectors; the resolver compares against it.
-- Vectors stay in the row up to a page (some 2,000 dimensions): exact search then reads no TOAST table.
CREATE TABLE IF NOT EXISTS note_embeddings (
  note_id uuid NOT NULL REFERENCES memory_notes (note_id) ON DELETE CASCADE,
  embedding_version text NOT NULL,
  embedding_dim int NOT NULL CONSTRAINT note_embeddings_dim_matches CHECK (embedding_dim = <vector_dim>),
  vec vector(<vector_dim>) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (note_id, embedding_version)
) WITH (toast_tuple_target = 8160);
