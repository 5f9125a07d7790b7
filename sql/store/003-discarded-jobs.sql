-- Jobs that were given up may be discarded: an operator decides so.

ALTER TABLE store_outbox DROP CONSTRAINT IF EXISTS store_outbox_status_known;

ALTER TABLE store_outbox ADD CONSTRAINT store_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_store_outbox_given_up ON store_outbox (revision) WHERE status IN ('GIVEN_UP', 'DISCARDED');
