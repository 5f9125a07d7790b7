-- What was said (history), and what agents keep of it for themselves (memory, of one client each, in epochs).
--
-- Content is json, not jsonb, which would sort its keys. `memory_count` and `memory_digest` say of a memory entry how
-- many items its epoch has up to here, as this conversation shows it, and are a running digest of these;
-- `memory_type` is their content type, null when there are several. `is_indexed` when there is a text by which it is found.
CREATE TABLE IF NOT EXISTS conversation_entries (
  tenant_id text NOT NULL,
  conversation_id uuid NOT NULL,
  seq bigint NOT NULL,
  entry_id uuid NOT NULL,
  tree_id uuid NOT NULL,
  user_id text NULL,
  client_id text NULL,
  channel text NOT NULL CHECK (channel IN ('history', 'memory')),
  epoch int NULL,
  content_type text NOT NULL,
  content json NOT NULL,
  is_indexed boolean NOT NULL,
  memory_count int NULL,
  memory_digest bytea NULL,
  memory_type text NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, conversation_id, seq),
  CONSTRAINT conversation_entries_id UNIQUE (tenant_id, entry_id),
  FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations ON DELETE CASCADE,
  CHECK ((channel = 'memory') = (epoch IS NOT NULL)),
  CHECK (channel = 'history' OR client_id IS NOT NULL AND memory_count IS NOT NULL AND memory_digest IS NOT NULL),
  CHECK (channel = 'history' OR NOT is_indexed)
);
CREATE INDEX IF NOT EXISTS idx_conversation_entries_history ON conversation_entries (tenant_id, conversation_id, seq)
  WHERE channel = 'history';
CREATE INDEX IF NOT EXISTS idx_conversation_entries_memory
  ON conversation_entries (tenant_id, conversation_id, client_id, seq) WHERE channel = 'memory';
CREATE INDEX IF NOT EXISTS idx_conversation_entries_epochs
  ON conversation_entries (tenant_id, conversation_id, client_id, epoch, seq) WHERE channel = 'memory';
CREATE INDEX IF NOT EXISTS idx_conversation_entries_tree ON conversation_entries (tenant_id, tree_id, created_at, entry_id);
CREATE INDEX IF NOT EXISTS idx_conversation_entries_unindexed ON conversation_entries (tenant_id, created_at, entry_id)
  WHERE channel = 'history' AND NOT is_indexed;
