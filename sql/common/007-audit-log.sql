-- The audit log: who called which operation of the admin server, about what, and the outcome. The names of erased users in it
-- are hashed with the key of receipts, which is therefore here whatever families are on.

\ir ../audit/tables/audit_log.sql

CREATE TABLE IF NOT EXISTS memory_receipt_keys (
  is_the_key boolean PRIMARY KEY DEFAULT true CHECK (is_the_key),
  key bytea NOT NULL,
  made_at timestamptz NOT NULL
);
