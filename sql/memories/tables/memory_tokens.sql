-- The token vectors of a text that some family keeps none of: made once, and made again whenever they are missing. They
-- belong to the text, which is not here: a digest names it.
CREATE TABLE IF NOT EXISTS memory_tokens (
  tenant_id text NOT NULL,
  digest bytea NOT NULL,
  version text NOT NULL,
  tokens int NOT NULL,
  vectors bytea NOT NULL,
  used_on date NOT NULL,
  PRIMARY KEY (tenant_id, digest)
);
CREATE INDEX IF NOT EXISTS memory_tokens_unused_idx ON memory_tokens (used_on);
