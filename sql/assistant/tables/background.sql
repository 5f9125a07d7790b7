-- Pairs of memories that were compared already, by their ids and score.
CREATE TABLE IF NOT EXISTS assistant_fingerprints (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  fingerprint text NOT NULL,
  checked_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, fingerprint)
);

CREATE INDEX IF NOT EXISTS idx_assistant_fingerprints_old ON assistant_fingerprints (checked_at);

-- Which work of the background was begun for a user, and when: a row is taken before it is done.
CREATE TABLE IF NOT EXISTS assistant_runs (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  kind text NOT NULL,
  slot timestamptz NOT NULL,
  ended_at timestamptz NULL,
  PRIMARY KEY (tenant_id, user_id, kind, slot)
);

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
