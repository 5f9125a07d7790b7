-- What an answer of recall was made of, without the texts: addresses, scores, what was left out and why.
CREATE TABLE IF NOT EXISTS memory_traces (
  tenant_id text NOT NULL,
  trace_id uuid NOT NULL,
  user_id text,
  agent_id text,
  project_id text,
  read_profile text, -- what binds who asked
  query text NOT NULL,
  content jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, trace_id)
);
CREATE INDEX IF NOT EXISTS memory_traces_of_user_idx ON memory_traces (tenant_id, user_id);
CREATE INDEX IF NOT EXISTS memory_traces_expiring_idx ON memory_traces (expires_at);
