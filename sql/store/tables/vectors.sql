-- The vectors of a value, one for each text that its paths lead to. All within a prefix are compared, so no index of
-- theirs is needed.
CREATE TABLE IF NOT EXISTS store_vectors (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  item_id uuid NOT NULL,
  place int NOT NULL,
  embedding_version text NOT NULL,
  embedding vector(<vector_dim>) NOT NULL,
  PRIMARY KEY (item_id, place),
  CONSTRAINT store_vectors_item FOREIGN KEY (item_id) REFERENCES store_items (item_id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS idx_store_vectors_user ON store_vectors (tenant_id, user_id);

-- An exact search reads many vectors: they stay in the row.
ALTER TABLE store_vectors ALTER COLUMN embedding SET STORAGE MAIN;
