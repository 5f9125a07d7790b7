-- What a webhook is still to be told of, in the order of `seq`: an outbox of the shape that sql/outbox tells. A row goes when
-- it was delivered. `event_id` is the same for all who are told. `lane` is whose the item is: what is of one lane is told one
-- after the other. `extra` is what else there is to tell of the item; its text is never here.
CREATE TABLE IF NOT EXISTS webhook_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  webhook text NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  event_id uuid NOT NULL,
  event text NOT NULL CONSTRAINT webhook_outbox_event_known
    CHECK (event IN ('written', 'changed', 'forgotten', 'contradicted')),
  family text NOT NULL,
  kind text NOT NULL,
  item_id text NOT NULL,
  tenant_id text NOT NULL,
  project_id text NULL,
  agent_id text NULL,
  user_id text NULL,
  extra jsonb NOT NULL DEFAULT '{}',
  lane text COLLATE "C" NOT NULL,
  changed_at timestamptz NOT NULL DEFAULT now(),
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT webhook_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT webhook_outbox_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- The lanes of a webhook, and in each what is next.
CREATE INDEX IF NOT EXISTS idx_webhook_outbox_lanes ON webhook_outbox (webhook, lane, seq)
  WHERE status IN ('PENDING', 'FAILED');

CREATE INDEX IF NOT EXISTS idx_webhook_outbox_dead ON webhook_outbox (webhook, seq) WHERE status = 'GIVEN_UP';

-- Whose it is, to erase it.
CREATE INDEX IF NOT EXISTS idx_webhook_outbox_tenant ON webhook_outbox (tenant_id, user_id, agent_id);
