-- Indexing jobs of a corpus (<corpus> is its name) may be discarded: an operator decides so of one that was given up.

ALTER TABLE <corpus>_indexing_outbox DROP CONSTRAINT IF EXISTS <corpus>_indexing_outbox_status_check;

ALTER TABLE <corpus>_indexing_outbox ADD CONSTRAINT <corpus>_indexing_outbox_status_check
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

-- Few rows: those of subjects that nothing enqueues again by itself.
CREATE INDEX IF NOT EXISTS idx_<corpus>_indexing_given_up ON <corpus>_indexing_outbox (subject_id)
  WHERE status IN ('GIVEN_UP', 'DISCARDED');
