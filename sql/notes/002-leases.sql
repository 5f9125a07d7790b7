-- Leases are counted, so that who lost one does nothing to that of another.

ALTER TABLE indexing_outbox ADD COLUMN IF NOT EXISTS leases int NOT NULL DEFAULT 0;
