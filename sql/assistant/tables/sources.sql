-- In which other threads than its own a memory was said, and what proves it. A memory is kept as long as it has one source.
CREATE TABLE IF NOT EXISTS assistant_memory_sources (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  memory_id uuid NOT NULL,
  thread_id text NOT NULL,
  evidence jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id, thread_id),
  FOREIGN KEY (tenant_id, user_id, memory_id) REFERENCES assistant_memories ON DELETE CASCADE
);
