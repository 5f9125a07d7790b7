-- Jobs that were given up may be discarded: an operator decides so.

ALTER TABLE memory_said_outbox DROP CONSTRAINT IF EXISTS memory_said_outbox_status_known;

ALTER TABLE memory_said_outbox ADD CONSTRAINT memory_said_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS memory_said_outbox_given_up_idx ON memory_said_outbox (created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');
