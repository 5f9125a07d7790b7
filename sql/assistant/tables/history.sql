-- What became of memories, in the order of `seq`. The refs are the JSON of a memory as it was before and after; `old_id`
-- and `new_id` say which memories these are. Texts are blanked when a memory is purged, rows stay.
CREATE TABLE IF NOT EXISTS assistant_history (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  seq bigint GENERATED ALWAYS AS IDENTITY,
  memory_id uuid NOT NULL,
  event text NOT NULL CONSTRAINT assistant_history_event_known
    CHECK (event IN ('ADD', 'UPDATE', 'DELETE', 'MERGE', 'LINK', 'TTL', 'RESTORE')),
  old_ref text NULL,
  new_ref text NULL,
  old_id uuid NULL,
  new_id uuid NULL,
  actor text NULL,
  meta jsonb NOT NULL DEFAULT '{}',
  ts timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, id)
);

CREATE INDEX IF NOT EXISTS idx_assistant_history_memory
  ON assistant_history (tenant_id, user_id, memory_id, ts DESC, seq DESC);

CREATE INDEX IF NOT EXISTS idx_assistant_history_user ON assistant_history (tenant_id, user_id, ts DESC, seq DESC);

CREATE INDEX IF NOT EXISTS idx_assistant_history_old
  ON assistant_history (tenant_id, user_id, old_id) WHERE old_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_assistant_history_new
  ON assistant_history (tenant_id, user_id, new_id) WHERE new_id IS NOT NULL;
