-- What an agent saw in a session; it goes when its time is over. `leased_until` and `lease` say that a batch of episodes
-- is being consolidated; `available_at` puts a failed one off. `request_digest` is of the request that an idempotency_key
-- came with.
CREATE TABLE IF NOT EXISTS knowledge_episodes (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  butler text NOT NULL,
  session_id uuid NULL,
  content text NOT NULL,
  embedding vector(<vector_dim>) NULL,
  embedding_version text NULL,
  search_vector tsvector NULL,
  importance double precision NOT NULL DEFAULT 5.0
    CONSTRAINT knowledge_episodes_importance_range CHECK (importance BETWEEN 0 AND 10),
  reference_count integer NOT NULL DEFAULT 0,
  consolidated boolean NOT NULL DEFAULT false,
  consolidation_status varchar(20) NOT NULL DEFAULT 'pending' CONSTRAINT knowledge_episodes_status_known
    CHECK (consolidation_status IN ('pending', 'consolidated', 'dead_letter')),
  retry_count integer NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NULL,
  lease uuid NULL,
  leased_until timestamptz NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  last_referenced_at timestamptz NULL,
  expires_at timestamptz NULL DEFAULT now() + interval '7 days',
  metadata jsonb NOT NULL DEFAULT '{}',
  idempotency_key text NULL,
  request_digest bytea NULL,
  CONSTRAINT knowledge_episodes_of_tenant UNIQUE (tenant_id, id),
  CONSTRAINT knowledge_episodes_vector_has_version CHECK ((embedding IS NULL) = (embedding_version IS NULL))
) WITH (fillfactor = 90, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_butler
  ON knowledge_episodes (tenant_id, butler, created_at DESC, id);

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_created ON knowledge_episodes (tenant_id, created_at DESC, id);

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_expires
  ON knowledge_episodes (tenant_id, expires_at) WHERE expires_at IS NOT NULL;

-- What goes first when there are too many.
CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_consolidated
  ON knowledge_episodes (tenant_id, created_at, id) WHERE consolidated;

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_pending
  ON knowledge_episodes (tenant_id, butler, created_at, id) WHERE consolidation_status = 'pending';

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_lease
  ON knowledge_episodes (tenant_id, lease) WHERE lease IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_dead
  ON knowledge_episodes (created_at DESC, id DESC) WHERE consolidation_status = 'dead_letter';

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_words ON knowledge_episodes USING gin (search_vector);

-- An exact search reads many vectors: they stay in the row, and what is long beside them goes out of it.
ALTER TABLE knowledge_episodes ALTER COLUMN embedding SET STORAGE MAIN;

-- pgvector indexes at most 2,000 dimensions; longer vectors are all compared.
DO $$ BEGIN
  IF <vector_dim> <= 2000 THEN
    CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_embedding
      ON knowledge_episodes USING hnsw (embedding vector_cosine_ops);
  END IF;
END $$;

CREATE UNIQUE INDEX IF NOT EXISTS idx_knowledge_episodes_idempotency
  ON knowledge_episodes (tenant_id, idempotency_key) WHERE idempotency_key IS NOT NULL;
