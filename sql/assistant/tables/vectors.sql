-- The vector of each memory, written with it. All of a user are compared, so no index of theirs is needed.
CREATE TABLE IF NOT EXISTS assistant_vectors (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  memory_id uuid NOT NULL,
  embedding_version text NOT NULL,
  embedding vector(<vector_dim>) NOT NULL,
  PRIMARY KEY (tenant_id, user_id, memory_id),
  CONSTRAINT assistant_vectors_memory FOREIGN KEY (tenant_id, user_id, memory_id)
    REFERENCES assistant_memories (tenant_id, user_id, memory_id) ON DELETE CASCADE
);

-- An exact search reads many vectors: they stay in the row.
ALTER TABLE assistant_vectors ALTER COLUMN embedding SET STORAGE MAIN;
