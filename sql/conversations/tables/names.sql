-- A user's name for a conversation stands for an id that is derived from it (`name_id`), and, once a conversation of the
-- name was deleted, for one that is derived from that id and the generation: what was deleted stays deleted, and what is
-- said by the name from then on is another conversation. A name whose conversation was never deleted has no row. The row
-- goes with its user, who owned what was deleted.
CREATE TABLE IF NOT EXISTS conversation_names (
  tenant_id text NOT NULL,
  name_id uuid NOT NULL,
  user_id text NOT NULL,
  generation int NOT NULL CONSTRAINT conversation_names_generation_range CHECK (generation >= 0),
  conversation_id uuid NOT NULL,
  PRIMARY KEY (tenant_id, name_id)
);
CREATE INDEX IF NOT EXISTS idx_conversation_names_conversation ON conversation_names (tenant_id, conversation_id);
CREATE INDEX IF NOT EXISTS idx_conversation_names_user ON conversation_names (tenant_id, user_id);

CREATE OR REPLACE FUNCTION conversation_of_generation(name_id uuid, generation int) RETURNS uuid
LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT CASE generation WHEN 0 THEN name_id
    ELSE substr(encode(sha256(convert_to(name_id::text || '/' || generation, 'UTF8')), 'hex'), 1, 32)::uuid END
$$;
