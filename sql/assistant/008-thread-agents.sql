-- To which agent the thread of a checkpoint belongs: the one that wrote its first checkpoint. Null: to no agent, and every
-- agent of the user may write it. All checkpoints of a thread have the same.

ALTER TABLE saver_checkpoints ADD COLUMN IF NOT EXISTS agent_id text NULL;
