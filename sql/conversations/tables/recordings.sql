-- What is recorded now, and where. None of it is truth, as the finished answer becomes an entry: a crash of Postgres
-- may empty both tables, and who records fills them again.
--
-- A process says by `heartbeat_at` that it still records. `followers` are other processes that replay it: it stays until
-- they have all of it. `is_cancelled` asks for the end, `ending` tells it, and `bytes` how much there was by then.
CREATE UNLOGGED TABLE IF NOT EXISTS conversation_recordings (
  tenant_id text NOT NULL,
  recording_id uuid NOT NULL,
  conversation_id uuid NOT NULL,
  process_id uuid NOT NULL,
  followers uuid[] NOT NULL DEFAULT '{}',
  is_cancelled boolean NOT NULL DEFAULT false,
  ending text NULL CHECK (ending IN ('success', 'cancelled', 'error', 'broken')),
  bytes bigint NULL,
  started_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  heartbeat_at timestamptz NOT NULL DEFAULT clock_timestamp(),
  ended_at timestamptz NULL,
  PRIMARY KEY (tenant_id, recording_id),
  CHECK ((ending IS NULL) = (ended_at IS NULL) AND (ending IS NULL) = (bytes IS NULL))
) WITH (fillfactor = 50);
CREATE INDEX IF NOT EXISTS idx_conversation_recordings_place ON conversation_recordings (tenant_id, conversation_id);

-- Stretches of UTF-8 without a gap, each from its first byte on; a character is never cut.
CREATE UNLOGGED TABLE IF NOT EXISTS conversation_recording_chunks (
  tenant_id text NOT NULL,
  recording_id uuid NOT NULL,
  start bigint NOT NULL,
  content bytea NOT NULL,
  PRIMARY KEY (tenant_id, recording_id, start)
);
