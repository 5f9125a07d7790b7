-- The processes that write or index notes, and by which model and chunking. Each renews its row while it lives and marks
-- it when it ends, so whoever shares the database knows whose notes are whose.
CREATE TABLE IF NOT EXISTS note_processes (
  process_id uuid PRIMARY KEY,
  name text NOT NULL,
  embedding_version text NOT NULL,
  chunking text NOT NULL,
  indexes boolean NOT NULL,
  watching_since timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  has_left boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);
