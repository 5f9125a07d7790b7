-- What a lease scans: the tenants, and of each the open jobs in the order of their time.

CREATE INDEX IF NOT EXISTS idx_store_outbox_lane_due ON store_outbox (tenant_id, available_at)
  WHERE status IN ('PENDING', 'FAILED');
