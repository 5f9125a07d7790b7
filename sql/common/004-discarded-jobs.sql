-- Jobs that were given up may be discarded: an operator decides so.

ALTER TABLE search_trace_outbox DROP CONSTRAINT IF EXISTS search_trace_outbox_status_known;

ALTER TABLE search_trace_outbox ADD CONSTRAINT search_trace_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_trace_outbox_given_up ON search_trace_outbox (created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');

ALTER TABLE chore_runs DROP CONSTRAINT IF EXISTS chore_runs_status_known;

ALTER TABLE chore_runs ADD CONSTRAINT chore_runs_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_chore_runs_given_up ON chore_runs (created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');

ALTER TABLE webhook_outbox DROP CONSTRAINT IF EXISTS webhook_outbox_status_known;

ALTER TABLE webhook_outbox ADD CONSTRAINT webhook_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_webhook_outbox_given_up ON webhook_outbox (webhook, created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');
