-- What a context showed a user within the last day, sentence by sentence, by keyed digests: what comes back as a message is
-- nothing new.
CREATE TABLE IF NOT EXISTS memory_context_lines (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  digest bytea NOT NULL,
  expires_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, digest)
);
CREATE INDEX IF NOT EXISTS memory_context_lines_expiring_idx ON memory_context_lines (expires_at);
