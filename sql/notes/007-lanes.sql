-- Jobs are done for one tenant after the other: `lane` is a hash of the tenant, or 0 for what the service does by itself,
-- such as a rebuild.

ALTER TABLE indexing_outbox ADD COLUMN IF NOT EXISTS lane bigint NOT NULL DEFAULT 0;

-- What a lease scans: the lanes of one version, and in each the open jobs of both states in the order of their time.
CREATE INDEX IF NOT EXISTS idx_outbox_lane_due ON indexing_outbox (embedding_version, lane, available_at)
  WHERE status IN ('PENDING', 'FAILED');
