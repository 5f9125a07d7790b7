-- What is remembered of a user. `unchecked` is one that was stored while nobody could look for what is like it; `words`
-- is what the word search reads.
CREATE TABLE IF NOT EXISTS assistant_memories (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  memory_id uuid NOT NULL,
  agent_id text NULL,
  run_id text NULL,
  actor_id text NULL,
  thread_id text NULL,
  role text NULL,
  type text NOT NULL CONSTRAINT assistant_memories_type_known
    CHECK (type IN ('semantic', 'episodic', 'insight', 'procedural')),
  category text NOT NULL,
  text text NOT NULL,
  steps_text text NULL,
  tags text[] NOT NULL DEFAULT '{}',
  importance smallint NOT NULL DEFAULT 2
    CONSTRAINT assistant_memories_importance_range CHECK (importance BETWEEN 1 AND 5),
  pinned boolean NOT NULL DEFAULT false,
  state text NOT NULL DEFAULT 'active' CONSTRAINT assistant_memories_state_known
    CHECK (state IN ('active', 'soft_deleted')),
  source text NOT NULL,
  evidence jsonb NOT NULL DEFAULT '[]',
  unchecked boolean NOT NULL DEFAULT false,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  last_accessed timestamptz NULL,
  hit_count bigint NOT NULL DEFAULT 0,
  purge_at timestamptz NULL,
  words tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, text || ' ' || coalesce(steps_text, ''))) STORED,
  PRIMARY KEY (tenant_id, user_id, memory_id),
  CONSTRAINT assistant_memories_purge_of_deleted CHECK ((state = 'soft_deleted') = (purge_at IS NOT NULL))
) WITH (fillfactor = 80, autovacuum_vacuum_scale_factor = 0.05);

CREATE INDEX IF NOT EXISTS idx_assistant_memories_updated
  ON assistant_memories (tenant_id, user_id, state, updated_at DESC, memory_id DESC);

CREATE INDEX IF NOT EXISTS idx_assistant_memories_category
  ON assistant_memories (tenant_id, user_id, category, updated_at DESC, memory_id DESC) WHERE state = 'active';

-- What is aging, unless it matters (elf/families/assistant/rules/aging.py has the same number), and what is due to go.
CREATE INDEX IF NOT EXISTS idx_assistant_memories_aging
  ON assistant_memories ((coalesce(last_accessed, created_at))) WHERE state = 'active' AND NOT pinned AND importance < 3;

CREATE INDEX IF NOT EXISTS idx_assistant_memories_purge
  ON assistant_memories (purge_at) WHERE state = 'soft_deleted';

CREATE INDEX IF NOT EXISTS idx_assistant_memories_words ON assistant_memories USING gin (words);
