-- The files that were taken in, and the words of theirs that memories were made of.

-- A file is written down with its memories, and finished once it is where it ends. `ingest_key` is a digest of its path
-- and its bytes.
CREATE TABLE memory_ingests (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  ingest_key TEXT NOT NULL CHECK (length(ingest_key) = 64),
  dropped_name TEXT NOT NULL CHECK (length(dropped_name) > 0),
  final_name TEXT NOT NULL CHECK (length(final_name) > 0),
  memory_ids TEXT NOT NULL CHECK (json_valid(memory_ids)),
  memories_written INTEGER NOT NULL CHECK (memories_written >= 0),
  edges_written INTEGER NOT NULL CHECK (edges_written >= 0),
  extractor TEXT NOT NULL,
  skipped TEXT NOT NULL CHECK (json_valid(skipped)),
  taken_at INTEGER NOT NULL,
  finished_at INTEGER,
  PRIMARY KEY (tenant_id, orchestrator_id, ingest_key),
  FOREIGN KEY (tenant_id, orchestrator_id) REFERENCES memory_meta
) STRICT, WITHOUT ROWID;

CREATE INDEX ingests_to_finish
  ON memory_ingests (tenant_id, orchestrator_id, taken_at, ingest_key) WHERE finished_at IS NULL;

-- What stands in the text of a file from `start` to `end`, in code points.
CREATE TABLE memory_quotes (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  quote TEXT NOT NULL CHECK (length(quote) > 0),
  start INTEGER NOT NULL CHECK (start >= 0),
  "end" INTEGER NOT NULL CHECK ("end" > start),
  PRIMARY KEY (tenant_id, orchestrator_id, memory_id),
  FOREIGN KEY (tenant_id, orchestrator_id, memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memory_ingests', 'memory_ingests', '10000 10000 10000 1'),
  ('memory_ingests', 'ingests_to_finish', '10 10 10 1 1'),
  ('memory_quotes', 'memory_quotes', '50000 50000 50000 1');
