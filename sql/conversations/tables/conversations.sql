-- What a fork has of others is told by `ancestors`, from the root on, each with the last of its entries that is seen
-- (`ancestor_ends`): a view is these ranges, in their order, and then all own entries. Ranges without an entry are left
-- out. Own entries are numbered from 1 to last_seq without a gap.
CREATE TABLE IF NOT EXISTS conversations (
  tenant_id text NOT NULL,
  conversation_id uuid NOT NULL,
  tree_id uuid NOT NULL,
  title text NULL,
  metadata jsonb NOT NULL DEFAULT '{}',
  forked_at_conversation_id uuid NULL,
  forked_at_entry_id uuid NULL,
  ancestors uuid[] NOT NULL DEFAULT '{}',
  ancestor_ends bigint[] NOT NULL DEFAULT '{}',
  last_seq bigint NOT NULL DEFAULT 0,
  last_entry_at timestamptz NULL,
  last_message_preview text NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, conversation_id),
  FOREIGN KEY (tenant_id, tree_id) REFERENCES conversation_trees ON DELETE CASCADE,
  CHECK (cardinality(ancestors) = cardinality(ancestor_ends))
);
CREATE INDEX IF NOT EXISTS idx_conversations_tree ON conversations (tenant_id, tree_id, updated_at DESC, conversation_id DESC);
CREATE INDEX IF NOT EXISTS idx_conversations_newest ON conversations (tenant_id, updated_at DESC, conversation_id DESC);
