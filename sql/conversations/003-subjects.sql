-- What is somebody's can be found, to be erased or taken along, in whatever tree it is; an entry that was erased says so,
-- and a conversation who gave it its title, as far as that is known.

ALTER TABLE conversation_entries ADD COLUMN IF NOT EXISTS is_erased boolean NOT NULL DEFAULT false;
ALTER TABLE conversations ADD COLUMN IF NOT EXISTS titled_by text NULL;

CREATE INDEX IF NOT EXISTS idx_conversation_entries_user ON conversation_entries (tenant_id, user_id, tree_id)
  WHERE user_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_conversation_entries_client ON conversation_entries (tenant_id, client_id, tree_id)
  WHERE client_id IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_conversation_trees_begun ON conversation_trees (tenant_id, creator, tree_id)
  WHERE creator <> owner_user_id;
