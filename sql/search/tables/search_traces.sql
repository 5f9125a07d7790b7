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
  expires_at timestamptz NOT NULL,
  -- Beyond the requirements: parts that could not help, [stage, milliseconds] pairs, and the candidates that are no
  -- results, each an array in the order of the fields of elf.search.trace.DroppedCandidate.
  degraded jsonb NOT NULL DEFAULT '[]',
  stages jsonb NOT NULL DEFAULT '[]',
  dropped json NOT NULL DEFAULT '[]'
);

ALTER TABLE search_traces ADD COLUMN IF NOT EXISTS filters jsonb NOT NULL DEFAULT '{}';

-- The family of memory that was searched.
ALTER TABLE search_traces ADD COLUMN IF NOT EXISTS family text NOT NULL DEFAULT 'notes';

CREATE INDEX IF NOT EXISTS idx_search_traces_expires ON search_traces (expires_at);

CREATE INDEX IF NOT EXISTS idx_search_traces_context ON search_traces (tenant_id, project_id, created_at);

-- What a page of an agent's traces scans.
CREATE INDEX IF NOT EXISTS idx_search_traces_newest
  ON search_traces (tenant_id, project_id, agent_id, created_at DESC, trace_id DESC);

-- Mostly ids and scores, which do not compress; trying took most of the time that a trace took.
ALTER TABLE search_traces ALTER COLUMN dropped SET STORAGE EXTERNAL;
