-- The authoritative notes. requested_ttl_days keeps what the writer asked for, so that the same note sent again is
-- recognised as unchanged although its expiry would differ.
-- Search hits change two unindexed columns: the free room in each page lets such an update stay in its page.
CREATE TABLE IF NOT EXISTS memory_notes (
  note_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  scope text NOT NULL,
  type text NOT NULL CONSTRAINT memory_notes_type_known
    CHECK (type IN ('preference', 'constraint', 'decision', 'profile', 'fact', 'plan')),
  key text NULL,
  text text NOT NULL,
  importance real NOT NULL CONSTRAINT memory_notes_importance_range CHECK (importance BETWEEN 0 AND 1),
  confidence real NOT NULL CONSTRAINT memory_notes_confidence_range CHECK (confidence BETWEEN 0 AND 1),
  status text NOT NULL CONSTRAINT memory_notes_status_known
    CHECK (status IN ('active', 'deleted', 'deprecated')),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  expires_at timestamptz NULL,
  requested_ttl_days double precision NULL,
  embedding_version text NOT NULL,
  source_ref jsonb NOT NULL,
  hit_count bigint NOT NULL DEFAULT 0 CONSTRAINT memory_notes_hit_count_range CHECK (hit_count >= 0),
  last_hit_at timestamptz NULL
) WITH (fillfactor = 85);

CREATE INDEX IF NOT EXISTS idx_notes_scope_status ON memory_notes (tenant_id, project_id, scope, status);

CREATE INDEX IF NOT EXISTS idx_notes_key ON memory_notes (tenant_id, project_id, agent_id, scope, type, key)
  WHERE key IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_notes_expires ON memory_notes (expires_at);

-- One active note holds a key.
CREATE UNIQUE INDEX IF NOT EXISTS idx_notes_active_key
  ON memory_notes (tenant_id, project_id, agent_id, scope, type, key)
  WHERE key IS NOT NULL AND status = 'active';

-- The live notes of a resolution group, for the similarity lookup, and among them the one with a given text.
CREATE INDEX IF NOT EXISTS idx_notes_group
  ON memory_notes (tenant_id, project_id, agent_id, scope, type, md5(text))
  WHERE status = 'active';

-- A page of a project's notes, newest first.
CREATE INDEX IF NOT EXISTS idx_notes_newest
  ON memory_notes (tenant_id, project_id, updated_at DESC, note_id DESC);

-- The notes that will expire.
CREATE INDEX IF NOT EXISTS idx_notes_expiring ON memory_notes (expires_at)
  WHERE status = 'active' AND expires_at IS NOT NULL;

-- What the purges look for.
CREATE INDEX IF NOT EXISTS idx_notes_retired ON memory_notes (status, updated_at) WHERE status <> 'active';
