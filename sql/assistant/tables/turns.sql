-- Turns that were taken in, with what came of them: the same turn again gets the same answer. `request_digest` is of the
-- request; `results` name memories by their ids and hold no text.
CREATE TABLE IF NOT EXISTS assistant_turns (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  turn_id text NOT NULL,
  request_digest bytea NOT NULL,
  results jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, thread_id, turn_id)
);

CREATE INDEX IF NOT EXISTS idx_assistant_turns_old ON assistant_turns (created_at);
