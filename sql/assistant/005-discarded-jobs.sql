-- Jobs that were given up may be discarded: an operator decides so.

ALTER TABLE assistant_outbox DROP CONSTRAINT IF EXISTS assistant_outbox_status_known;

ALTER TABLE assistant_outbox ADD CONSTRAINT assistant_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_assistant_outbox_given_up ON assistant_outbox (created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');
