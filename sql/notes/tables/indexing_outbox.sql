-- Indexing jobs, written in the transaction that changed the note. A lease is available_at pushed forward. A job is for
-- workers of its embedding_version.
-- Every job is updated a few times within seconds, so dead rows are collected early.
CREATE TABLE IF NOT EXISTS indexing_outbox (
  outbox_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  op text NOT NULL CONSTRAINT indexing_outbox_op_known CHECK (op IN ('UPSERT', 'DELETE')),
  embedding_version text NOT NULL,
  status text NOT NULL CONSTRAINT indexing_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT indexing_outbox_attempts_range CHECK (attempts >= 0),
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_outbox_status_available ON indexing_outbox (status, available_at);

CREATE INDEX IF NOT EXISTS idx_outbox_note_op_status ON indexing_outbox (note_id, op, status);

-- What a lease scans: open jobs of both states and one version in the order of their time, however many DONE rows there
-- are.
CREATE INDEX IF NOT EXISTS idx_outbox_version_due ON indexing_outbox (embedding_version, available_at)
  WHERE status IN ('PENDING', 'FAILED');

DROP INDEX IF EXISTS idx_outbox_due;
