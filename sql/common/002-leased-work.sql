-- Leases are counted, so that who lost one does nothing to that of another; jobs may be given up; chores.

ALTER TABLE search_trace_outbox ADD COLUMN IF NOT EXISTS leases int NOT NULL DEFAULT 0;

ALTER TABLE search_trace_outbox DROP CONSTRAINT IF EXISTS search_trace_outbox_status_known;

ALTER TABLE search_trace_outbox ADD CONSTRAINT search_trace_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP'));

\ir ../chores/tables/chore_runs.sql
