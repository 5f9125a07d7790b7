-- An entry is found by what the program that wrote it calls it, which is one entry of a tree.

CREATE UNIQUE INDEX IF NOT EXISTS idx_conversation_entries_session_key
  ON conversation_entries (tenant_id, session_key, tree_id) WHERE session_key IS NOT NULL;
