-- What memories have to do with one another: one row for a pair and a type, from the one that was written later.
CREATE TABLE IF NOT EXISTS assistant_relations (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  relation_id uuid NOT NULL DEFAULT gen_random_uuid(),
  from_id uuid NOT NULL,
  to_id uuid NOT NULL,
  relation_type text NOT NULL DEFAULT 'related_to' CONSTRAINT assistant_relations_type_known
    CHECK (relation_type IN ('related_to', 'contradicts')),
  strength real NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (tenant_id, user_id, relation_id),
  CONSTRAINT assistant_relations_two_ends CHECK (from_id <> to_id),
  CONSTRAINT assistant_relations_from FOREIGN KEY (tenant_id, user_id, from_id)
    REFERENCES assistant_memories (tenant_id, user_id, memory_id) ON DELETE CASCADE,
  CONSTRAINT assistant_relations_to FOREIGN KEY (tenant_id, user_id, to_id)
    REFERENCES assistant_memories (tenant_id, user_id, memory_id) ON DELETE CASCADE
);

CREATE UNIQUE INDEX IF NOT EXISTS idx_assistant_relations_pair
  ON assistant_relations (tenant_id, user_id, least(from_id, to_id), greatest(from_id, to_id), relation_type);

CREATE INDEX IF NOT EXISTS idx_assistant_relations_from ON assistant_relations (tenant_id, user_id, from_id);

CREATE INDEX IF NOT EXISTS idx_assistant_relations_to ON assistant_relations (tenant_id, user_id, to_id);
