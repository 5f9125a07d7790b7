-- Jobs that were given up may be discarded.

ALTER TABLE toy_outbox DROP CONSTRAINT IF EXISTS toy_outbox_status_check;

ALTER TABLE toy_outbox ADD CONSTRAINT toy_outbox_status_check
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));
