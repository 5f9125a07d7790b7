-- What the family did and how it went, to be counted. `sim` is the score of the best neighbour, where there is one.
CREATE TABLE IF NOT EXISTS assistant_events (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  id uuid NOT NULL DEFAULT gen_random_uuid(),
  thread_id text NULL,
  node text NOT NULL CONSTRAINT assistant_events_node_known
    CHECK (node IN ('hotpath', 'context', 'episodic', 'worker')),
  op text NOT NULL CONSTRAINT assistant_events_op_known
    CHECK (op IN ('classify', 'search', 'create', 'update', 'merge', 'delete')),
  status text NOT NULL CONSTRAINT assistant_events_status_known CHECK (status IN ('ok', 'error', 'skipped')),
  memory_id uuid NULL,
  category text NULL,
  sim real NULL,
  reason text NULL,
  ts timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, id)
);

CREATE INDEX IF NOT EXISTS idx_assistant_events_user ON assistant_events (tenant_id, user_id, ts DESC);

CREATE INDEX IF NOT EXISTS idx_assistant_events_node ON assistant_events (tenant_id, node, ts DESC);

-- What is old goes.
CREATE INDEX IF NOT EXISTS idx_assistant_events_old ON assistant_events (ts);
