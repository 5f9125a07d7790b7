-- What is known of a subject, or of an entity. Of a key, which is (entity_id, scope, predicate) or, without an entity,
-- (scope, subject, predicate), one fact is active; the one that it superseded stays, and is named by supersedes_id.
CREATE TABLE IF NOT EXISTS knowledge_facts (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  subject text NOT NULL,
  predicate text NOT NULL,
  content text NOT NULL,
  embedding vector(<vector_dim>) NULL,
  embedding_version text NULL,
  search_vector tsvector NULL,
  importance double precision NOT NULL DEFAULT 5.0
    CONSTRAINT knowledge_facts_importance_range CHECK (importance BETWEEN 0 AND 10),
  confidence double precision NOT NULL DEFAULT 1.0
    CONSTRAINT knowledge_facts_confidence_range CHECK (confidence BETWEEN 0 AND 1),
  decay_rate double precision NOT NULL DEFAULT 0.008
    CONSTRAINT knowledge_facts_decay_range CHECK (decay_rate >= 0),
  permanence text NOT NULL DEFAULT 'standard' CONSTRAINT knowledge_facts_permanence_known
    CHECK (permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral')),
  source_butler text NULL,
  source_episode_id uuid NULL,
  supersedes_id uuid NULL,
  entity_id uuid NULL,
  validity text NOT NULL DEFAULT 'active' CONSTRAINT knowledge_facts_validity_known
    CHECK (validity IN ('active', 'superseded', 'expired', 'retracted')),
  scope text NOT NULL DEFAULT 'global',
  reference_count integer NOT NULL DEFAULT 0,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_referenced_at timestamptz NULL,
  last_confirmed_at timestamptz NULL,
  tags jsonb NOT NULL DEFAULT '[]',
  metadata jsonb NOT NULL DEFAULT '{}',
  idempotency_key text NULL,
  request_digest bytea NULL,
  CONSTRAINT knowledge_facts_of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT knowledge_facts_vector_has_version CHECK ((embedding IS NULL) = (embedding_version IS NULL)),
  CONSTRAINT knowledge_facts_episode FOREIGN KEY (tenant_id, source_episode_id)
    REFERENCES knowledge_episodes (tenant_id, id) ON DELETE SET NULL (source_episode_id),
  CONSTRAINT knowledge_facts_supersedes FOREIGN KEY (tenant_id, supersedes_id)
    REFERENCES knowledge_facts (tenant_id, id) ON DELETE SET NULL (supersedes_id),
  CONSTRAINT knowledge_facts_entity FOREIGN KEY (tenant_id, entity_id)
    REFERENCES knowledge_entities (tenant_id, id) ON DELETE RESTRICT
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE UNIQUE INDEX IF NOT EXISTS idx_knowledge_facts_entity_key
  ON knowledge_facts (tenant_id, entity_id, scope, predicate) WHERE entity_id IS NOT NULL AND validity = 'active';

CREATE UNIQUE INDEX IF NOT EXISTS idx_knowledge_facts_subject_key
  ON knowledge_facts (tenant_id, scope, subject, predicate) WHERE entity_id IS NULL AND validity = 'active';

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_scope
  ON knowledge_facts (tenant_id, scope, validity, created_at DESC, id) WHERE validity = 'active';

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_subject ON knowledge_facts (tenant_id, subject, predicate);

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_created ON knowledge_facts (tenant_id, created_at DESC, id);

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_entity
  ON knowledge_facts (tenant_id, entity_id, created_at DESC, id) WHERE entity_id IS NOT NULL;

-- What a sweep goes through.
CREATE INDEX IF NOT EXISTS idx_knowledge_facts_decaying
  ON knowledge_facts (tenant_id, id) WHERE validity = 'active' AND decay_rate > 0;

-- What the database looks up when what they name goes.
CREATE INDEX IF NOT EXISTS idx_knowledge_facts_episode
  ON knowledge_facts (tenant_id, source_episode_id) WHERE source_episode_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_supersedes
  ON knowledge_facts (tenant_id, supersedes_id) WHERE supersedes_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_words ON knowledge_facts USING gin (search_vector);

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_tags ON knowledge_facts USING gin (tags);

-- An exact search reads many vectors: they stay in the row, and what is long beside them goes out of it.
ALTER TABLE knowledge_facts ALTER COLUMN embedding SET STORAGE MAIN;

-- pgvector indexes at most 2,000 dimensions; longer vectors are all compared. Facts that are not active are never searched,
-- and ending many would cost a place in the index for each.
DO $$ BEGIN
  IF <vector_dim> <= 2000 THEN
    CREATE INDEX IF NOT EXISTS idx_knowledge_facts_embedding
      ON knowledge_facts USING hnsw (embedding vector_cosine_ops) WHERE validity = 'active';
  END IF;
END $$;

CREATE UNIQUE INDEX IF NOT EXISTS idx_knowledge_facts_idempotency
  ON knowledge_facts (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
