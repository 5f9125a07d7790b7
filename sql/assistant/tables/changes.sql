-- The newest changes that each thread is told of, one for each revision.
CREATE TABLE IF NOT EXISTS assistant_changes (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  rev bigint NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  memory_id uuid NOT NULL,
  event text NOT NULL CONSTRAINT assistant_changes_event_known
    CHECK (event IN ('created', 'updated', 'merged', 'deleted', 'soft_deleted', 'restored')),
  meta jsonb NOT NULL DEFAULT '{}',
  ts timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, thread_id, rev)
);

CREATE INDEX IF NOT EXISTS idx_assistant_changes_memory ON assistant_changes (tenant_id, user_id, memory_id);
