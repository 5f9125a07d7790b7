-- The tables of a corpus (elf/indexing/corpus.py): <corpus> is its name, <rows> the table of its subjects, and <key> the
-- primary key of that.

-- Whether a vector counts, as in elf/providers/vectors.py: the length of any other says nothing, nor does its cosine.
CREATE OR REPLACE FUNCTION has_direction(vec vector) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN vector_norm(vec) BETWEEN 0.001 AND 1000000;

-- The chunks of texts; offsets are code points into the text. `chunking` is by which rule and numbers it was cut; null is
-- unknown.
CREATE TABLE IF NOT EXISTS <corpus>_chunks (
  chunk_id uuid PRIMARY KEY,
  subject_id uuid NOT NULL REFERENCES <rows> (<key>) ON DELETE CASCADE,
  chunk_index int NOT NULL CHECK (chunk_index >= 0),
  start_offset int NOT NULL,
  end_offset int NOT NULL,
  text text NOT NULL,
  embedding_version text NOT NULL,
  chunking text NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CHECK (0 <= start_offset AND start_offset < end_offset)
);

-- Unique: a subject has one chunk at each place.
CREATE UNIQUE INDEX IF NOT EXISTS idx_<corpus>_chunks_subject_index ON <corpus>_chunks (subject_id, chunk_index);

-- The vectors of chunks: the source of truth for retrieval and rebuild.
-- Vectors stay in the row up to a page (some 2,000 dimensions).
CREATE TABLE IF NOT EXISTS <corpus>_chunk_embeddings (
  chunk_id uuid NOT NULL REFERENCES <corpus>_chunks (chunk_id) ON DELETE CASCADE,
  embedding_version text NOT NULL,
  embedding_dim int NOT NULL CHECK (embedding_dim = <vector_dim>),
  vec vector(<vector_dim>) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chunk_id, embedding_version)
) WITH (toast_tuple_target = 8160);

-- Indexing jobs, written in the transaction that changed the subject. A lease is available_at pushed forward. A job is for
-- workers of its embedding_version.
-- Every job is updated a few times within seconds, so dead rows are collected early.
CREATE TABLE IF NOT EXISTS <corpus>_indexing_outbox (
  outbox_id uuid PRIMARY KEY,
  subject_id uuid NOT NULL,
  op text NOT NULL CHECK (op IN ('UPSERT', 'DELETE')),
  embedding_version text NOT NULL,
  status text NOT NULL CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_<corpus>_indexing_status_available ON <corpus>_indexing_outbox (status, available_at);

CREATE INDEX IF NOT EXISTS idx_<corpus>_indexing_subject_status ON <corpus>_indexing_outbox (subject_id, status);

-- What a lease scans: open jobs of both states and one version in the order of their time, however many DONE rows there
-- are.
CREATE INDEX IF NOT EXISTS idx_<corpus>_indexing_version_due ON <corpus>_indexing_outbox (embedding_version, available_at)
  WHERE status IN ('PENDING', 'FAILED');
