-- What a user agreed to be known by: a value for each field; goals are a list.
CREATE TABLE IF NOT EXISTS assistant_user_context (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  field text NOT NULL CONSTRAINT assistant_user_context_field_known
    CHECK (field IN ('preferred_name', 'pronouns', 'city', 'language', 'tone', 'goals')),
  value jsonb NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, field)
);

-- Changes of it that wait for a decision, and those that were decided. At most one of a field waits.
CREATE TABLE IF NOT EXISTS assistant_proposals (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  proposal_id uuid NOT NULL,
  field text NOT NULL,
  value text NOT NULL,
  state text NOT NULL DEFAULT 'pending' CONSTRAINT assistant_proposals_state_known
    CHECK (state IN ('pending', 'approved', 'rejected', 'expired', 'superseded')),
  thread_id text NULL,
  evidence jsonb NOT NULL DEFAULT '[]',
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  decided_at timestamptz NULL,
  decided_by text NULL,
  PRIMARY KEY (tenant_id, user_id, proposal_id)
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_assistant_proposals_pending
  ON assistant_proposals (tenant_id, user_id, field) WHERE state = 'pending';

CREATE INDEX IF NOT EXISTS idx_assistant_proposals_expiring ON assistant_proposals (expires_at) WHERE state = 'pending';

-- What was said of a field that needs no agreement; it takes two turns to apply.
CREATE TABLE IF NOT EXISTS assistant_signals (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  field text NOT NULL,
  thread_id text NOT NULL,
  turn_id text NOT NULL,
  value text NOT NULL,
  embedding vector(<vector_dim>) NULL,
  embedding_version text NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, field, thread_id, turn_id)
);
