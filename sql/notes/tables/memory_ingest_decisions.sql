-- What became of every note that add_note and add_event were given, and what was weighed. A refused note leaves only
-- numbers and rule names behind: nothing it said, and its type and scope only when they are known ones.
-- A decision about a stored note is kept as long as the note, any other for 30 days. Ids ascend as rows are written.
CREATE TABLE IF NOT EXISTS memory_ingest_decisions (
  decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  scope text NULL,
  type text NULL,
  keyed boolean NOT NULL,
  text_chars int NOT NULL,
  note_id uuid NULL,
  op text NOT NULL CONSTRAINT memory_ingest_decisions_op_known
    CHECK (op IN ('ADD', 'UPDATE', 'NONE', 'REJECTED')),
  reason_code text NULL,
  reason text NOT NULL,
  similarity real NULL,
  matched_note_id uuid NULL,
  policy jsonb NOT NULL,
  actor text NOT NULL,
  ts timestamptz NOT NULL
);

-- What a note said that was answered NONE because a stored one says the same in other words; null when nothing was lost.
-- A purge of the stored note removes it with the decision.
ALTER TABLE memory_ingest_decisions ADD COLUMN IF NOT EXISTS dropped_text text NULL;

-- A page of a tenant's decisions, newest first.
CREATE INDEX IF NOT EXISTS idx_decisions_newest ON memory_ingest_decisions (tenant_id, decision_id DESC);

-- What a purge of a note removes, and what it makes forget the note.
CREATE INDEX IF NOT EXISTS idx_decisions_note ON memory_ingest_decisions (note_id) WHERE note_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_decisions_matched ON memory_ingest_decisions (matched_note_id)
  WHERE matched_note_id <> note_id;

-- Decisions without a note, which are dropped by their age.
CREATE INDEX IF NOT EXISTS idx_decisions_without_note ON memory_ingest_decisions (ts) WHERE note_id IS NULL;

-- What was said of a note in other words, newest first.
CREATE INDEX IF NOT EXISTS idx_decisions_dropped ON memory_ingest_decisions (note_id, decision_id DESC)
  WHERE dropped_text IS NOT NULL;
