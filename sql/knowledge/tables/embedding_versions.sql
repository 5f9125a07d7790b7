-- The models that wrote vectors here: a row for each from the first vector that it wrote.
CREATE TABLE IF NOT EXISTS knowledge_embedding_versions (
  embedding_version text PRIMARY KEY,
  provider text NOT NULL,
  model text NOT NULL,
  dimensions integer NOT NULL,
  first_used_at timestamptz NOT NULL DEFAULT now()
);
