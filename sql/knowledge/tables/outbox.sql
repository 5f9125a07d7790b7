-- Work on memories that is done after they were written, of the shape that sql/outbox tells: a `vector` for one that was
-- stored while the embedder was away, the `inversion` of a rule that did harm.
CREATE TABLE IF NOT EXISTS knowledge_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  memory_type text NOT NULL CONSTRAINT knowledge_outbox_type_known CHECK (memory_type IN ('episode', 'fact', 'rule')),
  memory_id uuid NOT NULL,
  kind text NOT NULL CONSTRAINT knowledge_outbox_kind_known CHECK (kind IN ('vector', 'inversion')),
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT knowledge_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT knowledge_outbox_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_knowledge_outbox_due ON knowledge_outbox (available_at)
  WHERE status IN ('PENDING', 'FAILED');

CREATE INDEX IF NOT EXISTS idx_knowledge_outbox_done ON knowledge_outbox (updated_at) WHERE status = 'DONE';

CREATE INDEX IF NOT EXISTS idx_knowledge_outbox_memory ON knowledge_outbox (tenant_id, memory_id);
