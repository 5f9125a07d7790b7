-- Toys with their vectors, the jobs by which they get them, and how many there were in each tenant's boxes.

CREATE TABLE IF NOT EXISTS toys (
  toy_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  words text NOT NULL,
  vec vector(<vector_dim>),
  created_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS idx_toys_box ON toys (tenant_id, project_id, created_at, toy_id);

CREATE TABLE IF NOT EXISTS toy_outbox (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  toy_id uuid NOT NULL,
  status text NOT NULL DEFAULT 'PENDING' CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0,
  leases int NOT NULL DEFAULT 0,
  last_error text,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
);
CREATE INDEX IF NOT EXISTS idx_toy_outbox_due ON toy_outbox (available_at) WHERE status IN ('PENDING', 'FAILED');

CREATE TABLE IF NOT EXISTS toy_counts (tenant_id text PRIMARY KEY, toys bigint NOT NULL);
