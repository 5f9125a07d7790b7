-- The audit trail: one row a change, never changed but for blanking the texts of purged notes. It outlives its note, and
-- ends by [lifecycle.retention] of the config, if at all.
CREATE TABLE IF NOT EXISTS memory_note_versions (
  version_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  op text NOT NULL CONSTRAINT memory_note_versions_op_known
    CHECK (op IN ('ADD', 'UPDATE', 'DEPRECATE', 'DELETE', 'PURGE')),
  prev_snapshot jsonb NULL,
  new_snapshot jsonb NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  ts timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS idx_note_versions_note ON memory_note_versions (note_id, ts);
