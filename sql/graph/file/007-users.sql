-- Whose a memory is among the users of a tenant. Without a `user_id` it is everybody's. The empty one is of somebody whom nobody
-- knows: it is from a conversation whose owner is not known, or not yet. One that is `shared` is everybody's to read.
ALTER TABLE memories ADD COLUMN user_id TEXT;
ALTER TABLE memories ADD COLUMN shared INTEGER NOT NULL DEFAULT 0 CHECK (shared IN (0, 1));

UPDATE memories SET user_id = ''
WHERE EXISTS (
  SELECT 1
  FROM memory_sources s
  WHERE s.tenant_id = memories.tenant_id AND s.orchestrator_id = memories.orchestrator_id
    AND s.memory_id = memories.memory_id AND s.conversation_id IS NOT NULL
);

-- It has all that says which memories matter most to a user.
DROP INDEX memories_by_type;
CREATE INDEX memories_by_type
  ON memories (tenant_id, orchestrator_id, type, importance DESC, updated_at DESC, memory_id, user_id, shared)
  WHERE status = 'active';
CREATE INDEX memories_of_unknown ON memories (tenant_id, orchestrator_id, memory_id) WHERE user_id = '';
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memories', 'memories_by_type', '80000 80000 80000 10000 200 2 1 1 1'),
  ('memories', 'memories_of_unknown', '1000 1000 1000 1');
