-- Work that is done after an answer, of the shape that sql/outbox tells. `kind` says which: the `vector` of a memory that
-- was stored while the embedder was away, or what needs a language model. `subject_id` is the memory, or the job's own
-- id; `payload` is what else it needs, such as the messages of a turn.
CREATE TABLE IF NOT EXISTS assistant_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  kind text NOT NULL,
  subject_id uuid NOT NULL,
  payload jsonb NOT NULL DEFAULT '{}',
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT assistant_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT assistant_outbox_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_assistant_outbox_due ON assistant_outbox (available_at)
  WHERE status IN ('PENDING', 'FAILED');

CREATE INDEX IF NOT EXISTS idx_assistant_outbox_done ON assistant_outbox (updated_at) WHERE status = 'DONE';

CREATE INDEX IF NOT EXISTS idx_assistant_outbox_subject ON assistant_outbox (tenant_id, user_id, subject_id);

CREATE INDEX IF NOT EXISTS idx_assistant_outbox_turns ON assistant_outbox (tenant_id, user_id, created_at, outbox_id)
  WHERE kind = 'turn' AND status IN ('PENDING', 'FAILED');
