-- What became of memories and entities, and who did it. Rows are only added. A payload holds ids, numbers and states, no
-- content. `seq` puts those of one moment in the order in which they were written.
CREATE TABLE IF NOT EXISTS knowledge_events (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  seq bigint GENERATED ALWAYS AS IDENTITY,
  event_type text NOT NULL,
  actor text NULL,
  tenant_id text NULL,
  memory_type text NULL,
  memory_id uuid NULL,
  request_id text NULL,
  payload jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_knowledge_events_type ON knowledge_events (event_type, created_at DESC);

CREATE INDEX IF NOT EXISTS idx_knowledge_events_tenant ON knowledge_events (tenant_id, created_at DESC, seq DESC);

CREATE INDEX IF NOT EXISTS idx_knowledge_events_memory ON knowledge_events (tenant_id, memory_id, created_at, seq);
