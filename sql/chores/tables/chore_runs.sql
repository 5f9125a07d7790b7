-- A run of a chore: of one family, for one subject ('' where a chore has none) and due at one time. An outbox of the
-- shape that sql/outbox tells, whose jobs have no other subject than themselves. The last run that is done stays, so that
-- it is known.
CREATE TABLE IF NOT EXISTS chore_runs (
  outbox_id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  family text NOT NULL,
  chore text NOT NULL,
  subject text NOT NULL,
  due_at timestamptz NOT NULL,
  status text NOT NULL DEFAULT 'PENDING'
    CONSTRAINT chore_runs_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT chore_runs_attempts_range CHECK (attempts >= 0),
  leases int NOT NULL DEFAULT 0,
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT chore_runs_once UNIQUE (family, chore, subject, due_at)
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

-- A chore has one run at a time for a subject: the next one waits until that is done.
CREATE UNIQUE INDEX IF NOT EXISTS idx_chore_runs_open ON chore_runs (family, chore, subject)
  WHERE status IN ('PENDING', 'FAILED');

-- What a lease scans.
CREATE INDEX IF NOT EXISTS idx_chore_runs_due ON chore_runs (available_at) WHERE status IN ('PENDING', 'FAILED');

CREATE INDEX IF NOT EXISTS idx_chore_runs_status_available ON chore_runs (status, available_at);
