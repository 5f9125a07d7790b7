-- Pairs of memories that were compared already, by their ids and score.
CREATE TABLE IF NOT EXISTS assistant_fingerprints (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  fingerprint text NOT NULL,
  checked_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, fingerprint)
);

CREATE INDEX IF NOT EXISTS idx_assistant_fingerprints_old ON assistant_fingerprints (checked_at);

-- The work of the background that was begun last for a user, of each kind: the row is taken before it is done. `slot` is
-- the moment that it is for.
CREATE TABLE IF NOT EXISTS assistant_runs (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  kind text NOT NULL,
  slot timestamptz NOT NULL,
  begun_at timestamptz NOT NULL,
  ended_at timestamptz NULL,
  PRIMARY KEY (tenant_id, user_id, kind)
) WITH (fillfactor = 70);

-- The last words of each thread, for what is made of them after an answer: a few messages, each cut, for a few days.
CREATE TABLE IF NOT EXISTS assistant_recent (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  seq bigint GENERATED ALWAYS AS IDENTITY,
  turn_id text NOT NULL,
  role text NOT NULL,
  content text NOT NULL,
  said_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, thread_id, seq)
);

CREATE INDEX IF NOT EXISTS idx_assistant_recent_old ON assistant_recent (said_at);

-- How much of what is bounded a day was used; what a tenant shares has the user ''.
CREATE TABLE IF NOT EXISTS assistant_budgets (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  kind text NOT NULL,
  day date NOT NULL,
  used bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, user_id, kind, day)
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS idx_assistant_budgets_old ON assistant_budgets (day);
