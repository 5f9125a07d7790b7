-- Traces on their way into search_traces. A lease is available_at pushed forward.
CREATE TABLE IF NOT EXISTS search_trace_outbox (
  outbox_id uuid PRIMARY KEY,
  trace_id uuid NOT NULL,
  status text NOT NULL CONSTRAINT search_trace_outbox_status_known
    CHECK (status IN ('PENDING', 'FAILED', 'DONE')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT search_trace_outbox_attempts_range CHECK (attempts >= 0),
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_trace_outbox_status_available ON search_trace_outbox (status, available_at);

CREATE INDEX IF NOT EXISTS idx_trace_outbox_trace_status ON search_trace_outbox (trace_id, status);

-- What a lease scans, as in indexing_outbox.
CREATE INDEX IF NOT EXISTS idx_trace_outbox_due ON search_trace_outbox (available_at)
  WHERE status IN ('PENDING', 'FAILED');

-- Mostly ids and scores, which do not compress, and gone within moments.
ALTER TABLE search_trace_outbox ALTER COLUMN payload SET STORAGE EXTERNAL;
