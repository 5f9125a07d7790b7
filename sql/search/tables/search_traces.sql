-- What a search did, kept for a while to explain its results.
CREATE TABLE IF NOT EXISTS search_traces (
  trace_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  read_profile text NOT NULL,
  query text NOT NULL,
  expansion_mode text NOT NULL CONSTRAINT search_traces_expansion_mode_known
    CHECK (expansion_mode IN ('off', 'always', 'dynamic')),
  expanded_queries jsonb NOT NULL,
  allowed_scopes jsonb NOT NULL,
  candidate_count int NOT NULL,
  top_k int NOT NULL,
  config_snapshot jsonb NOT NULL,
  trace_version int NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL
);

CREATE INDEX IF NOT EXISTS idx_search_traces_expires ON search_traces (expires_at);

CREATE INDEX IF NOT EXISTS idx_search_traces_context ON search_traces (tenant_id, project_id, created_at);
