-- The revision of each thread of a user, and the one that it has seen. `seen_at` is when it was last asked or spoken in,
-- `episode_turn` the turn up to which it was summed up.
CREATE TABLE IF NOT EXISTS assistant_threads (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  rev bigint NOT NULL DEFAULT 0,
  seen_rev bigint NOT NULL DEFAULT 0,
  seen_at timestamptz NULL,
  turns bigint NOT NULL DEFAULT 0,
  episode_turn bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, user_id, thread_id)
) WITH (fillfactor = 70);

CREATE INDEX IF NOT EXISTS idx_assistant_threads_seen ON assistant_threads (tenant_id, user_id, seen_at DESC, thread_id);

-- How often each agent looked something up in a thread because it was not sure.
CREATE TABLE IF NOT EXISTS assistant_recalls (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  thread_id text NOT NULL,
  agent_id text NOT NULL,
  recalls bigint NOT NULL DEFAULT 0,
  PRIMARY KEY (tenant_id, user_id, thread_id, agent_id)
) WITH (fillfactor = 70);
