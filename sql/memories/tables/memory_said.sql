-- What was said and is to be remembered. `said_id` is its own, made of `request_id` where one was given; `messages` stay
-- until every family is done with them, `digest` is of all that was said, and `who` is who said it to the service.
CREATE TABLE IF NOT EXISTS memory_said (
  tenant_id text NOT NULL,
  said_id uuid NOT NULL,
  user_id text,
  agent_id text,
  project_id text,
  read_profile text, -- what binds who asked
  conversation text NOT NULL,
  conversation_id uuid NOT NULL,
  digest bytea NOT NULL,
  messages jsonb,
  who jsonb NOT NULL,
  said_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, said_id)
);
CREATE INDEX IF NOT EXISTS memory_said_of_user_idx ON memory_said (tenant_id, user_id);
CREATE INDEX IF NOT EXISTS memory_said_old_idx ON memory_said (said_at);
-- What a family makes of it: an outbox of the shape that sql/outbox tells. What was done at once, or refused, is DONE from
-- the start. `error_code` is why the family does not take it.
CREATE TABLE IF NOT EXISTS memory_said_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  said_id uuid NOT NULL,
  family text NOT NULL,
  place int NOT NULL,
  written jsonb NOT NULL DEFAULT '[]',
  error_code text,
  message text,
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT memory_said_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT memory_said_outbox_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT memory_said_outbox_once UNIQUE (tenant_id, said_id, family),
  FOREIGN KEY (tenant_id, said_id) REFERENCES memory_said ON DELETE CASCADE
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);
CREATE INDEX IF NOT EXISTS memory_said_outbox_due_idx ON memory_said_outbox (available_at)
  WHERE status IN ('PENDING', 'FAILED');
