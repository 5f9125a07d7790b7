-- One row each time a search with record_hits returned a note.
CREATE TABLE IF NOT EXISTS memory_hits (
  hit_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  chunk_id uuid NULL,
  query_hash text NOT NULL,
  rank int NOT NULL CONSTRAINT memory_hits_rank_range CHECK (rank >= 1),
  final_score real NOT NULL,
  ts timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS idx_hits_note ON memory_hits (note_id, ts);

-- What is old enough to be dropped.
CREATE INDEX IF NOT EXISTS idx_hits_ts ON memory_hits (ts);
