-- A tree is a conversation with all its forks: it has one owner, one list of members, and is deleted as a whole. Who
-- began it is its creator, whoever owns it.
CREATE TABLE IF NOT EXISTS conversation_trees (
  tenant_id text NOT NULL,
  tree_id uuid NOT NULL,
  owner_user_id text NOT NULL,
  creator text NOT NULL,
  created_at timestamptz NOT NULL,
  deleted_at timestamptz NULL,
  PRIMARY KEY (tenant_id, tree_id)
);
CREATE INDEX IF NOT EXISTS idx_conversation_trees_deleted ON conversation_trees (deleted_at) WHERE deleted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_conversation_trees_tenant_deleted ON conversation_trees (tenant_id, deleted_at, tree_id)
  WHERE deleted_at IS NOT NULL;
CREATE INDEX IF NOT EXISTS idx_conversation_trees_owner ON conversation_trees (tenant_id, owner_user_id);

CREATE TABLE IF NOT EXISTS conversation_memberships (
  tenant_id text NOT NULL,
  tree_id uuid NOT NULL,
  user_id text NOT NULL,
  access_level text NOT NULL CHECK (access_level IN ('owner', 'manager', 'writer', 'reader')),
  is_creator boolean NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, tree_id, user_id),
  FOREIGN KEY (tenant_id, tree_id) REFERENCES conversation_trees ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS idx_conversation_memberships_user ON conversation_memberships (tenant_id, user_id, tree_id);
CREATE INDEX IF NOT EXISTS idx_conversation_memberships_shared ON conversation_memberships (tenant_id, user_id)
  INCLUDE (tree_id) WHERE NOT is_creator;
CREATE UNIQUE INDEX IF NOT EXISTS idx_conversation_memberships_owner ON conversation_memberships (tenant_id, tree_id)
  WHERE access_level = 'owner';

-- At most one of a tree at a time.
CREATE TABLE IF NOT EXISTS conversation_transfers (
  tenant_id text NOT NULL,
  transfer_id uuid NOT NULL,
  tree_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  from_user_id text NOT NULL,
  to_user_id text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, transfer_id),
  CONSTRAINT conversation_transfers_one UNIQUE (tenant_id, tree_id),
  FOREIGN KEY (tenant_id, tree_id) REFERENCES conversation_trees ON DELETE CASCADE
);
CREATE INDEX IF NOT EXISTS idx_conversation_transfers_from ON conversation_transfers (tenant_id, from_user_id);
CREATE INDEX IF NOT EXISTS idx_conversation_transfers_to ON conversation_transfers (tenant_id, to_user_id);
