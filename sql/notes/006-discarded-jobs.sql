-- Jobs that were given up, and may be discarded: an operator decides so.

ALTER TABLE indexing_outbox DROP CONSTRAINT IF EXISTS indexing_outbox_status_known;

ALTER TABLE indexing_outbox ADD CONSTRAINT indexing_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_outbox_given_up ON indexing_outbox (note_id) WHERE status IN ('GIVEN_UP', 'DISCARDED');
