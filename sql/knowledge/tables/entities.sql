-- Whom and what facts are about. One that was merged into another stays as a tombstone, with metadata.merged_into.
CREATE TABLE IF NOT EXISTS knowledge_entities (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  canonical_name varchar NOT NULL,
  entity_type varchar NOT NULL CONSTRAINT knowledge_entities_type_known
    CHECK (entity_type IN ('person', 'organization', 'place', 'other')),
  aliases text[] NOT NULL DEFAULT '{}',
  metadata jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT knowledge_entities_of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT knowledge_entities_named_once UNIQUE (tenant_id, canonical_name, entity_type)
);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_name ON knowledge_entities (tenant_id, canonical_name);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_updated ON knowledge_entities (tenant_id, updated_at DESC, id);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_aliases ON knowledge_entities USING gin (aliases);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_metadata ON knowledge_entities USING gin (metadata);
