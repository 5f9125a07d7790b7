-- What was shown to somebody who wants something forgotten: the addresses of items, each with the digest of its text.
CREATE TABLE IF NOT EXISTS memory_forget_handles (
  tenant_id text NOT NULL,
  handle_id uuid NOT NULL,
  user_id text,
  agent_id text,
  project_id text,
  read_profile text, -- what binds who asked
  items jsonb NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, handle_id)
);
CREATE INDEX IF NOT EXISTS memory_forget_handles_of_user_idx ON memory_forget_handles (tenant_id, user_id);
CREATE INDEX IF NOT EXISTS memory_forget_handles_expiring_idx ON memory_forget_handles (expires_at);
