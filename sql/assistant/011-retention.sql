-- breaks: older
-- A memory ages from the last time that it was read, repeated, edited or imported; a proposal that ended is kept for a while.

ALTER TABLE assistant_memories ADD COLUMN IF NOT EXISTS imported_at timestamptz NULL;

DROP INDEX IF EXISTS idx_assistant_memories_aging;

CREATE INDEX IF NOT EXISTS idx_assistant_memories_aged
  ON assistant_memories ((greatest(last_accessed, created_at, updated_at, imported_at)))
  WHERE state = 'active' AND NOT pinned AND importance < 3;

CREATE INDEX IF NOT EXISTS idx_assistant_proposals_ended
  ON assistant_proposals ((coalesce(decided_at, expires_at))) WHERE state <> 'pending';

-- A value that was stated in passing takes no place of one that was stated as such.
ALTER TABLE assistant_proposals ADD COLUMN IF NOT EXISTS is_implied boolean NOT NULL DEFAULT false;
