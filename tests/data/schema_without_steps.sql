-- The schema as it was when a database kept no record of steps. Never edited: a test upgrades from it.

CREATE EXTENSION IF NOT EXISTS vector;

CREATE TABLE IF NOT EXISTS schema_state (
  only_row boolean PRIMARY KEY DEFAULT true CHECK (only_row),
  fingerprint text NOT NULL,
  vector_dim int NOT NULL,
  applied_at timestamptz NOT NULL DEFAULT now()
);

CREATE TABLE IF NOT EXISTS write_probes (
  written_at timestamptz NOT NULL DEFAULT now(),
  filler text NOT NULL
) WITH (autovacuum_enabled = off);
ALTER TABLE write_probes ALTER COLUMN filler SET STORAGE PLAIN;

CREATE TABLE IF NOT EXISTS memory_notes (
  note_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  scope text NOT NULL,
  type text NOT NULL CONSTRAINT memory_notes_type_known
    CHECK (type IN ('preference', 'constraint', 'decision', 'profile', 'fact', 'plan')),
  key text NULL,
  text text NOT NULL,
  importance real NOT NULL CONSTRAINT memory_notes_importance_range CHECK (importance BETWEEN 0 AND 1),
  confidence real NOT NULL CONSTRAINT memory_notes_confidence_range CHECK (confidence BETWEEN 0 AND 1),
  status text NOT NULL CONSTRAINT memory_notes_status_known
    CHECK (status IN ('active', 'deleted', 'deprecated')),
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  expires_at timestamptz NULL,
  requested_ttl_days double precision NULL,
  embedding_version text NOT NULL,
  source_ref jsonb NOT NULL,
  hit_count bigint NOT NULL DEFAULT 0 CONSTRAINT memory_notes_hit_count_range CHECK (hit_count >= 0),
  last_hit_at timestamptz NULL
) WITH (fillfactor = 85);

CREATE INDEX IF NOT EXISTS idx_notes_scope_status ON memory_notes (tenant_id, project_id, scope, status);

CREATE INDEX IF NOT EXISTS idx_notes_key ON memory_notes (tenant_id, project_id, agent_id, scope, type, key)
  WHERE key IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_notes_expires ON memory_notes (expires_at);

CREATE UNIQUE INDEX IF NOT EXISTS idx_notes_active_key
  ON memory_notes (tenant_id, project_id, agent_id, scope, type, key)
  WHERE key IS NOT NULL AND status = 'active';

CREATE INDEX IF NOT EXISTS idx_notes_group
  ON memory_notes (tenant_id, project_id, agent_id, scope, type, md5(text))
  WHERE status = 'active';

CREATE INDEX IF NOT EXISTS idx_notes_newest
  ON memory_notes (tenant_id, project_id, updated_at DESC, note_id DESC);

CREATE INDEX IF NOT EXISTS idx_notes_expiring ON memory_notes (expires_at)
  WHERE status = 'active' AND expires_at IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_notes_retired ON memory_notes (status, updated_at) WHERE status <> 'active';

CREATE OR REPLACE FUNCTION note_words(text text) RETURNS tsvector
  LANGUAGE sql IMMUTABLE STRICT PARALLEL SAFE
  RETURN to_tsvector('pg_catalog.english', translate(text, '/.@:-+_&<>=?#%~''’', '                 '));

CREATE TABLE IF NOT EXISTS memory_note_chunks (
  chunk_id uuid PRIMARY KEY,
  note_id uuid NOT NULL REFERENCES memory_notes (note_id) ON DELETE CASCADE,
  chunk_index int NOT NULL CONSTRAINT memory_note_chunks_index_range CHECK (chunk_index >= 0),
  start_offset int NOT NULL,
  end_offset int NOT NULL,
  text text NOT NULL,
  embedding_version text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  words tsvector NOT NULL GENERATED ALWAYS AS (note_words(text)) STORED,
  CONSTRAINT memory_note_chunks_offsets_ordered CHECK (0 <= start_offset AND start_offset < end_offset)
);

ALTER TABLE memory_note_chunks ADD COLUMN IF NOT EXISTS chunking text NULL;

CREATE INDEX IF NOT EXISTS idx_note_chunks_note ON memory_note_chunks (note_id);

CREATE UNIQUE INDEX IF NOT EXISTS idx_note_chunks_note_index ON memory_note_chunks (note_id, chunk_index);

CREATE OR REPLACE FUNCTION has_direction(vec vector) RETURNS boolean
LANGUAGE sql IMMUTABLE PARALLEL SAFE RETURN vector_norm(vec) BETWEEN 0.001 AND 1000000;

CREATE TABLE IF NOT EXISTS note_chunk_embeddings (
  chunk_id uuid NOT NULL REFERENCES memory_note_chunks (chunk_id) ON DELETE CASCADE,
  embedding_version text NOT NULL,
  embedding_dim int NOT NULL CONSTRAINT note_chunk_embeddings_dim_matches CHECK (embedding_dim = <vector_dim>),
  vec vector(<vector_dim>) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (chunk_id, embedding_version)
) WITH (toast_tuple_target = 8160);

CREATE TABLE IF NOT EXISTS note_chunk_tokens (
  chunk_id uuid PRIMARY KEY REFERENCES memory_note_chunks (chunk_id) ON DELETE CASCADE,
  version text NOT NULL,
  digest bytea NOT NULL,
  tokens int NOT NULL CONSTRAINT note_chunk_tokens_range CHECK (tokens >= 0),
  vectors bytea NOT NULL
) WITH (toast_tuple_target = 8160);

ALTER TABLE note_chunk_tokens ALTER COLUMN vectors SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS note_embeddings (
  note_id uuid NOT NULL REFERENCES memory_notes (note_id) ON DELETE CASCADE,
  embedding_version text NOT NULL,
  embedding_dim int NOT NULL CONSTRAINT note_embeddings_dim_matches CHECK (embedding_dim = <vector_dim>),
  vec vector(<vector_dim>) NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  PRIMARY KEY (note_id, embedding_version)
) WITH (toast_tuple_target = 8160);

CREATE TABLE IF NOT EXISTS memory_note_versions (
  version_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  op text NOT NULL CONSTRAINT memory_note_versions_op_known
    CHECK (op IN ('ADD', 'UPDATE', 'DEPRECATE', 'DELETE', 'PURGE')),
  prev_snapshot jsonb NULL,
  new_snapshot jsonb NULL,
  reason text NOT NULL,
  actor text NOT NULL,
  ts timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS idx_note_versions_note ON memory_note_versions (note_id, ts);

CREATE TABLE IF NOT EXISTS memory_hits (
  hit_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  chunk_id uuid NULL,
  query_hash text NOT NULL,
  rank int NOT NULL CONSTRAINT memory_hits_rank_range CHECK (rank >= 1),
  final_score real NOT NULL,
  ts timestamptz NOT NULL DEFAULT now()
);

CREATE INDEX IF NOT EXISTS idx_hits_note ON memory_hits (note_id, ts);

CREATE INDEX IF NOT EXISTS idx_hits_ts ON memory_hits (ts);

CREATE TABLE IF NOT EXISTS indexing_outbox (
  outbox_id uuid PRIMARY KEY,
  note_id uuid NOT NULL,
  op text NOT NULL CONSTRAINT indexing_outbox_op_known CHECK (op IN ('UPSERT', 'DELETE')),
  embedding_version text NOT NULL,
  status text NOT NULL CONSTRAINT indexing_outbox_status_known CHECK (status IN ('PENDING', 'FAILED', 'DONE')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT indexing_outbox_attempts_range CHECK (attempts >= 0),
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_outbox_status_available ON indexing_outbox (status, available_at);

CREATE INDEX IF NOT EXISTS idx_outbox_note_op_status ON indexing_outbox (note_id, op, status);

CREATE INDEX IF NOT EXISTS idx_outbox_version_due ON indexing_outbox (embedding_version, available_at)
  WHERE status IN ('PENDING', 'FAILED');

DROP INDEX IF EXISTS idx_outbox_due;

CREATE TABLE IF NOT EXISTS note_processes (
  process_id uuid PRIMARY KEY,
  name text NOT NULL,
  embedding_version text NOT NULL,
  chunking text NOT NULL,
  indexes boolean NOT NULL,
  watching_since timestamptz NOT NULL DEFAULT now(),
  seen_at timestamptz NOT NULL DEFAULT now(),
  has_left boolean NOT NULL DEFAULT false
) WITH (fillfactor = 50);

CREATE TABLE IF NOT EXISTS memory_ingest_decisions (
  decision_id bigint GENERATED ALWAYS AS IDENTITY PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  scope text NULL,
  type text NULL,
  keyed boolean NOT NULL,
  text_chars int NOT NULL,
  note_id uuid NULL,
  op text NOT NULL CONSTRAINT memory_ingest_decisions_op_known
    CHECK (op IN ('ADD', 'UPDATE', 'NONE', 'REJECTED')),
  reason_code text NULL,
  reason text NOT NULL,
  similarity real NULL,
  matched_note_id uuid NULL,
  policy jsonb NOT NULL,
  actor text NOT NULL,
  ts timestamptz NOT NULL
);

ALTER TABLE memory_ingest_decisions ADD COLUMN IF NOT EXISTS dropped_text text NULL;

CREATE INDEX IF NOT EXISTS idx_decisions_newest ON memory_ingest_decisions (tenant_id, decision_id DESC);

CREATE INDEX IF NOT EXISTS idx_decisions_note ON memory_ingest_decisions (note_id) WHERE note_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_decisions_matched ON memory_ingest_decisions (matched_note_id)
  WHERE matched_note_id <> note_id;

CREATE INDEX IF NOT EXISTS idx_decisions_without_note ON memory_ingest_decisions (ts) WHERE note_id IS NULL;

CREATE INDEX IF NOT EXISTS idx_decisions_of_notes_ts ON memory_ingest_decisions (ts) WHERE note_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_decisions_dropped ON memory_ingest_decisions (note_id, decision_id DESC)
  WHERE dropped_text IS NOT NULL;

CREATE TABLE IF NOT EXISTS search_traces (
  trace_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  agent_id text NOT NULL,
  read_profile text NOT NULL,
  query text NOT NULL,
  expansion_mode text NOT NULL CONSTRAINT search_traces_expansion_mode_known
    CHECK (expansion_mode IN ('off', 'always', 'dynamic')),
  expanded_queries jsonb NOT NULL,
  allowed_scopes jsonb NOT NULL,
  candidate_count int NOT NULL,
  top_k int NOT NULL,
  config_snapshot jsonb NOT NULL,
  trace_version int NOT NULL,
  created_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  degraded jsonb NOT NULL DEFAULT '[]',
  stages jsonb NOT NULL DEFAULT '[]',
  dropped json NOT NULL DEFAULT '[]'
);

ALTER TABLE search_traces ADD COLUMN IF NOT EXISTS filters jsonb NOT NULL DEFAULT '{}';

ALTER TABLE search_traces ADD COLUMN IF NOT EXISTS family text NOT NULL DEFAULT 'notes';

CREATE INDEX IF NOT EXISTS idx_search_traces_expires ON search_traces (expires_at);

CREATE INDEX IF NOT EXISTS idx_search_traces_context ON search_traces (tenant_id, project_id, created_at);

CREATE INDEX IF NOT EXISTS idx_search_traces_newest
  ON search_traces (tenant_id, project_id, agent_id, created_at DESC, trace_id DESC);

ALTER TABLE search_traces ALTER COLUMN dropped SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS search_trace_items (
  item_id uuid PRIMARY KEY,
  trace_id uuid NOT NULL REFERENCES search_traces (trace_id) ON DELETE CASCADE,
  note_id uuid NOT NULL,
  chunk_id uuid NULL,
  rank int NOT NULL CONSTRAINT search_trace_items_rank_range CHECK (rank >= 1),
  retrieval_score double precision NULL,
  retrieval_rank int NULL,
  rerank_score double precision NOT NULL,
  tie_breaker_score double precision NOT NULL,
  final_score double precision NOT NULL,
  boosts jsonb NOT NULL,
  matched_terms jsonb NOT NULL,
  matched_fields jsonb NOT NULL
);

ALTER TABLE search_trace_items ADD COLUMN IF NOT EXISTS relevance double precision NULL;

CREATE INDEX IF NOT EXISTS idx_search_trace_items_trace ON search_trace_items (trace_id, rank);

CREATE INDEX IF NOT EXISTS idx_search_trace_items_note ON search_trace_items (note_id);

CREATE TABLE IF NOT EXISTS search_trace_outbox (
  outbox_id uuid PRIMARY KEY,
  trace_id uuid NOT NULL,
  status text NOT NULL CONSTRAINT search_trace_outbox_status_known
    CHECK (status IN ('PENDING', 'FAILED', 'DONE')),
  attempts int NOT NULL DEFAULT 0 CONSTRAINT search_trace_outbox_attempts_range CHECK (attempts >= 0),
  last_error text NULL,
  available_at timestamptz NOT NULL DEFAULT now(),
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  updated_at timestamptz NOT NULL DEFAULT now()
) WITH (fillfactor = 70, autovacuum_vacuum_scale_factor = 0.02, autovacuum_vacuum_threshold = 1000);

CREATE INDEX IF NOT EXISTS idx_trace_outbox_status_available ON search_trace_outbox (status, available_at);

CREATE INDEX IF NOT EXISTS idx_trace_outbox_trace_status ON search_trace_outbox (trace_id, status);

CREATE INDEX IF NOT EXISTS idx_trace_outbox_due ON search_trace_outbox (available_at)
  WHERE status IN ('PENDING', 'FAILED');

ALTER TABLE search_trace_outbox ALTER COLUMN payload SET STORAGE EXTERNAL;

CREATE TABLE IF NOT EXISTS llm_cache (
  cache_id uuid PRIMARY KEY,
  cache_kind text NOT NULL,
  cache_key text NOT NULL,
  payload jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  last_accessed_at timestamptz NOT NULL,
  expires_at timestamptz NOT NULL,
  hit_count bigint NOT NULL DEFAULT 0 CONSTRAINT llm_cache_hit_count_range CHECK (hit_count >= 0)
) WITH (fillfactor = 85);

CREATE UNIQUE INDEX IF NOT EXISTS idx_llm_cache_key ON llm_cache (cache_kind, cache_key);

CREATE INDEX IF NOT EXISTS idx_llm_cache_expires ON llm_cache (expires_at);
