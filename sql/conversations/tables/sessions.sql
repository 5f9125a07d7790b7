-- A session is a user's name for a place in a tree: the view of a conversation up to an entry, or nothing of it where that
-- is null. Going back moves the place; what is written behind another entry than the last of the conversation is a fork.
-- `data` is whatever the program keeps beside the entries, `revision` changes with each write.
CREATE TABLE IF NOT EXISTS conversation_sessions (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  session_id text NOT NULL,
  tree_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  entry_id uuid NULL,
  data json NOT NULL,
  revision text NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, session_id),
  FOREIGN KEY (tenant_id, conversation_id) REFERENCES conversations ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS idx_conversation_sessions_conversation ON conversation_sessions (tenant_id, conversation_id);
CREATE INDEX IF NOT EXISTS idx_conversation_sessions_tree ON conversation_sessions (tenant_id, user_id, tree_id);
CREATE INDEX IF NOT EXISTS idx_conversation_sessions_newest
  ON conversation_sessions (tenant_id, user_id, updated_at DESC, session_id DESC);

-- By what name the program that wrote an entry to a session knows it.
ALTER TABLE conversation_entries ADD COLUMN IF NOT EXISTS session_key text NULL;
