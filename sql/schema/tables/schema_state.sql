-- Which form of the schema this database has: one row, written in the transaction that ran init.sql. A start that
-- finds its own fingerprint here runs no DDL, so it takes no locks that writers of other processes would wait for.
CREATE TABLE IF NOT EXISTS schema_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  fingerprint text NOT NULL,
  vector_dim int NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);
