-- To which agent the thread of a checkpoint belongs: the one that wrote its first checkpoint. Null: to no agent, and every
-- agent of the user may write it. All checkpoints of a thread have the same.

ALTER TABLE saver_checkpoints ADD COLUMN IF NOT EXISTS agent_id text NULL;

CREATE INDEX IF NOT EXISTS idx_saver_checkpoints_agent ON saver_checkpoints (tenant_id, agent_id)
  WHERE agent_id IS NOT NULL;
