-- Texts that end the process whose model is given them. `begun` is 1 while vectors are being made, and 2 while the process is
-- at nothing else; what stays so was being made when the process ended. That is suspect, and made alone from then on;
-- `deaths` counts how often it was alone.
ALTER TABLE memory_embeddings ADD COLUMN begun INTEGER NOT NULL DEFAULT 0 CHECK (begun IN (0, 1, 2));
ALTER TABLE memory_embeddings ADD COLUMN is_suspect INTEGER NOT NULL DEFAULT 0 CHECK (is_suspect IN (0, 1));
ALTER TABLE memory_embeddings ADD COLUMN deaths INTEGER NOT NULL DEFAULT 0;

CREATE INDEX embeddings_begun ON memory_embeddings (tenant_id, orchestrator_id) WHERE begun > 0;
