-- How to behave, as learned, with what was told of it when it was applied.
CREATE TABLE IF NOT EXISTS knowledge_rules (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  content text NOT NULL,
  embedding vector(<vector_dim>) NULL,
  embedding_version text NULL,
  search_vector tsvector NULL,
  scope text NOT NULL DEFAULT 'global',
  maturity text NOT NULL DEFAULT 'candidate' CONSTRAINT knowledge_rules_maturity_known
    CHECK (maturity IN ('candidate', 'established', 'proven', 'anti_pattern')),
  confidence double precision NOT NULL DEFAULT 0.5
    CONSTRAINT knowledge_rules_confidence_range CHECK (confidence BETWEEN 0 AND 1),
  decay_rate double precision NOT NULL DEFAULT 0.008
    CONSTRAINT knowledge_rules_decay_range CHECK (decay_rate >= 0),
  permanence text NOT NULL DEFAULT 'standard' CONSTRAINT knowledge_rules_permanence_known
    CHECK (permanence IN ('permanent', 'stable', 'standard', 'volatile', 'ephemeral')),
  effectiveness_score double precision NOT NULL DEFAULT 0.0,
  applied_count integer NOT NULL DEFAULT 0,
  success_count integer NOT NULL DEFAULT 0,
  harmful_count integer NOT NULL DEFAULT 0,
  source_episode_id uuid NULL,
  source_butler text NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_applied_at timestamptz NULL,
  last_evaluated_at timestamptz NULL,
  last_confirmed_at timestamptz NULL,
  reference_count integer NOT NULL DEFAULT 0,
  last_referenced_at timestamptz NULL,
  tags jsonb NOT NULL DEFAULT '[]',
  metadata jsonb NOT NULL DEFAULT '{}',
  idempotency_key text NULL,
  request_digest bytea NULL,
  CONSTRAINT knowledge_rules_of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT knowledge_rules_vector_has_version CHECK ((embedding IS NULL) = (embedding_version IS NULL)),
  CONSTRAINT knowledge_rules_episode FOREIGN KEY (tenant_id, source_episode_id)
    REFERENCES knowledge_episodes (tenant_id, id) ON DELETE SET NULL (source_episode_id)
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_scope ON knowledge_rules (tenant_id, scope, created_at DESC, id);

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_created ON knowledge_rules (tenant_id, created_at DESC, id);

-- What a sweep goes through; it leaves out those that are forgotten.
CREATE INDEX IF NOT EXISTS idx_knowledge_rules_decaying
  ON knowledge_rules (tenant_id, id) WHERE maturity <> 'anti_pattern' AND decay_rate > 0;

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_episode
  ON knowledge_rules (tenant_id, source_episode_id) WHERE source_episode_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_words ON knowledge_rules USING gin (search_vector);

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_tags ON knowledge_rules USING gin (tags);

-- An exact search reads many vectors: they stay in the row, and what is long beside them goes out of it.
ALTER TABLE knowledge_rules ALTER COLUMN embedding SET STORAGE MAIN;

-- pgvector indexes at most 2,000 dimensions; longer vectors are all compared.
DO $$ BEGIN
  IF <vector_dim> <= 2000 THEN
    CREATE INDEX IF NOT EXISTS idx_knowledge_rules_embedding
      ON knowledge_rules USING hnsw (embedding vector_cosine_ops);
  END IF;
END $$;

CREATE UNIQUE INDEX IF NOT EXISTS idx_knowledge_rules_idempotency
  ON knowledge_rules (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
