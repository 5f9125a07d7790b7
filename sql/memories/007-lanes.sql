-- What a lease scans: the tenants, and of each the open jobs in the order of their time.

CREATE INDEX IF NOT EXISTS memory_said_outbox_lane_due_idx ON memory_said_outbox (tenant_id, available_at)
  WHERE status IN ('PENDING', 'FAILED');
