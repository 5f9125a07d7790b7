-- Whom and what facts are about. One that was merged into another stays as a tombstone, with metadata.merged_into.
-- `names` are the name and the aliases in lower case, by which an entity is looked up; `searched` is all of them as lines,
-- in which a part of a name is looked for.
CREATE TABLE IF NOT EXISTS knowledge_entities (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  canonical_name varchar NOT NULL,
  entity_type varchar NOT NULL CONSTRAINT knowledge_entities_type_known
    CHECK (entity_type IN ('person', 'organization', 'place', 'other')),
  aliases text[] NOT NULL DEFAULT '{}',
  names text[] NOT NULL DEFAULT '{}',
  searched text NOT NULL DEFAULT '',
  metadata jsonb NOT NULL DEFAULT '{}',
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT knowledge_entities_of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT knowledge_entities_named_once UNIQUE (tenant_id, canonical_name, entity_type)
);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_name ON knowledge_entities (tenant_id, canonical_name);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_created ON knowledge_entities (tenant_id, created_at DESC, id DESC);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_aliases ON knowledge_entities USING gin (aliases);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_names ON knowledge_entities USING gin (names);

CREATE INDEX IF NOT EXISTS idx_knowledge_entities_metadata ON knowledge_entities USING gin (metadata);

-- A server may not have pg_trgm, or not let this user make it: then parts of names are looked for in all of a tenant,
-- and no name is merely similar.
DO $$ BEGIN
  CREATE EXTENSION IF NOT EXISTS pg_trgm;
  CREATE INDEX IF NOT EXISTS idx_knowledge_entities_searched ON knowledge_entities USING gin (searched gin_trgm_ops);
EXCEPTION WHEN insufficient_privilege OR undefined_file OR feature_not_supported OR undefined_object THEN
  RAISE NOTICE 'pg_trgm is not there: %', SQLERRM;
END $$;
