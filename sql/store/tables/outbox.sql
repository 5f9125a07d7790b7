-- Vectors that are still to be made, of the shape that sql/outbox tells: of what was written while the model was away.
CREATE TABLE IF NOT EXISTS store_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  revision uuid NOT NULL,
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT store_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT store_outbox_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_store_outbox_due ON store_outbox (available_at) WHERE status IN ('PENDING', 'FAILED');

CREATE INDEX IF NOT EXISTS idx_store_outbox_done ON store_outbox (updated_at) WHERE status = 'DONE';

CREATE INDEX IF NOT EXISTS idx_store_outbox_user ON store_outbox (tenant_id, user_id);

CREATE INDEX IF NOT EXISTS idx_store_outbox_revision ON store_outbox (revision);
