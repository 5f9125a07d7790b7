-- The memory of one orchestrator, in a file of its own. STRICT tables take no other types, CHECKs no other values.
-- Every key begins with whose it is. Times are microseconds since 1970 in UTC.

CREATE TABLE memory_meta (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, orchestrator_id)
) STRICT, WITHOUT ROWID;

-- `attribute` and `value` are what the extractor's rules say of its `subject`: two values of one are a contradiction.
CREATE TABLE memories (
  memory_no INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL CHECK (length(memory_id) BETWEEN 1 AND 128 AND memory_id NOT GLOB '*[^A-Za-z0-9._:-]*'),
  type TEXT NOT NULL CHECK (
    type IN ('Fact', 'Preference', 'Decision', 'Identity', 'Event', 'Observation', 'Goal', 'Todo')
  ),
  importance INTEGER NOT NULL CHECK (importance BETWEEN 0 AND 100),
  content TEXT NOT NULL CHECK (length(content) BETWEEN 1 AND 16384),
  summary TEXT NOT NULL CHECK (length(summary) BETWEEN 1 AND 280),
  confidence REAL NOT NULL CHECK (confidence BETWEEN 0.0 AND 1.0),
  status TEXT NOT NULL CHECK (status IN ('active', 'superseded', 'retracted')),
  subject TEXT,
  attribute TEXT,
  value TEXT,
  created_at INTEGER NOT NULL,
  updated_at INTEGER NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  UNIQUE (tenant_id, orchestrator_id, memory_id),
  FOREIGN KEY (tenant_id, orchestrator_id) REFERENCES memory_meta
) STRICT;

CREATE INDEX memories_by_time ON memories (tenant_id, orchestrator_id, updated_at DESC, memory_id);
CREATE INDEX memories_by_type
  ON memories (tenant_id, orchestrator_id, type, importance DESC, updated_at DESC, memory_id) WHERE status = 'active';
CREATE INDEX memories_by_subject
  ON memories (tenant_id, orchestrator_id, type, subject, attribute) WHERE subject IS NOT NULL AND status = 'active';

-- Where each memory is from.
CREATE TABLE memory_sources (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  source_type TEXT NOT NULL CHECK (
    source_type IN ('workflow_output', 'channel_transcript', 'ingest_file', 'diagnostics', 'manual')
  ),
  source_path TEXT CHECK (length(source_path) <= 4096 AND source_path GLOB '/*'),
  conversation_id TEXT CHECK (length(conversation_id) BETWEEN 1 AND 128),
  workflow_run_id TEXT CHECK (length(workflow_run_id) BETWEEN 1 AND 128),
  step_id TEXT CHECK (length(step_id) BETWEEN 1 AND 128),
  captured_by TEXT NOT NULL CHECK (captured_by IN ('extractor', 'user', 'system')),
  PRIMARY KEY (tenant_id, orchestrator_id, memory_id),
  FOREIGN KEY (tenant_id, orchestrator_id, memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE,
  CHECK (source_type <> 'workflow_output' OR (workflow_run_id IS NOT NULL AND step_id IS NOT NULL)),
  CHECK (source_type <> 'channel_transcript' OR conversation_id IS NOT NULL),
  CHECK (source_type <> 'ingest_file' OR source_path IS NOT NULL)
) STRICT, WITHOUT ROWID;

CREATE INDEX sources_by_conversation
  ON memory_sources (tenant_id, orchestrator_id, conversation_id) WHERE conversation_id IS NOT NULL;
CREATE INDEX sources_by_path ON memory_sources (tenant_id, orchestrator_id, source_path) WHERE source_path IS NOT NULL;

-- A Contradicts edge with a resolution says no longer that its ends cannot both be true.
CREATE TABLE memory_edges (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  edge_id TEXT NOT NULL CHECK (length(edge_id) BETWEEN 1 AND 128 AND edge_id NOT GLOB '*[^A-Za-z0-9._:-]*'),
  from_memory_id TEXT NOT NULL,
  to_memory_id TEXT NOT NULL CHECK (to_memory_id <> from_memory_id),
  edge_type TEXT NOT NULL CHECK (edge_type IN ('RelatedTo', 'Updates', 'Contradicts', 'CausedBy', 'PartOf')),
  weight REAL NOT NULL CHECK (weight BETWEEN 0.0 AND 1.0),
  reason TEXT CHECK (length(reason) BETWEEN 1 AND 1000),
  created_at INTEGER NOT NULL,
  resolution TEXT CHECK (
    resolution IN ('keep_from', 'keep_to', 'retract_from', 'retract_to', 'retract_both', 'both_true')
  ),
  resolution_reason TEXT CHECK (length(resolution_reason) BETWEEN 1 AND 1000),
  resolved_at INTEGER,
  PRIMARY KEY (tenant_id, orchestrator_id, edge_id),
  UNIQUE (tenant_id, orchestrator_id, from_memory_id, to_memory_id, edge_type),
  FOREIGN KEY (tenant_id, orchestrator_id, from_memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE,
  FOREIGN KEY (tenant_id, orchestrator_id, to_memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE,
  CHECK (resolution IS NULL OR (edge_type = 'Contradicts' AND resolved_at IS NOT NULL))
) STRICT, WITHOUT ROWID;

CREATE INDEX edges_by_start ON memory_edges (tenant_id, orchestrator_id, from_memory_id, edge_id);
CREATE INDEX edges_by_end ON memory_edges (tenant_id, orchestrator_id, to_memory_id, edge_id);
CREATE INDEX contradictions
  ON memory_edges (tenant_id, orchestrator_id, created_at, edge_id) WHERE edge_type = 'Contradicts' AND resolution IS NULL;

-- The sentences of contents, by which they are found: what stands in a content from `start` to `end`.
CREATE TABLE memory_spans (
  span_no INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
  start INTEGER NOT NULL CHECK (start >= 0),
  "end" INTEGER NOT NULL CHECK ("end" > start),
  text TEXT NOT NULL CHECK (length(text) BETWEEN 1 AND 320),
  UNIQUE (tenant_id, orchestrator_id, memory_id, ordinal),
  FOREIGN KEY (tenant_id, orchestrator_id, memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE
) STRICT;

-- The vectors of the pieces of a memory: float32, of length 1. Without a vector it is still to be made; one that could
-- not be made is tried again when it is `due_at`.
CREATE TABLE memory_embeddings (
  embedding_no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  embedding_version TEXT NOT NULL,
  ordinal INTEGER NOT NULL CHECK (ordinal >= 0),
  vector BLOB CHECK (length(vector) > 0 AND length(vector) % 4 = 0),
  attempts INTEGER NOT NULL DEFAULT 0,
  due_at INTEGER NOT NULL DEFAULT 0,
  UNIQUE (tenant_id, orchestrator_id, memory_id, embedding_version, ordinal),
  FOREIGN KEY (tenant_id, orchestrator_id, memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE
) STRICT;

CREATE INDEX embeddings_to_make
  ON memory_embeddings (tenant_id, orchestrator_id, embedding_version, due_at, embedding_no) WHERE vector IS NULL;
CREATE INDEX embeddings_made
  ON memory_embeddings (tenant_id, orchestrator_id, embedding_version, embedding_no) WHERE vector IS NOT NULL;

-- What each memory was after each change, as JSON with the wire's names.
CREATE TABLE memory_versions (
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  memory_id TEXT NOT NULL,
  version INTEGER NOT NULL CHECK (version >= 1),
  operation TEXT NOT NULL CHECK (operation IN ('ADD', 'UPDATE', 'SUPERSEDE', 'RETRACT', 'RESTORE')),
  memory TEXT NOT NULL CHECK (json_valid(memory)),
  reason TEXT CHECK (length(reason) BETWEEN 1 AND 1000),
  actor TEXT,
  created_at INTEGER NOT NULL,
  PRIMARY KEY (tenant_id, orchestrator_id, memory_id, version),
  FOREIGN KEY (tenant_id, orchestrator_id, memory_id)
    REFERENCES memories (tenant_id, orchestrator_id, memory_id) ON DELETE CASCADE
) STRICT, WITHOUT ROWID;

-- What was done, and what was refused, without the texts of memories.
CREATE TABLE memory_audit (
  audit_no INTEGER PRIMARY KEY,
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  event TEXT NOT NULL,
  actor TEXT,
  detail TEXT NOT NULL CHECK (json_valid(detail)),
  created_at INTEGER NOT NULL,
  FOREIGN KEY (tenant_id, orchestrator_id) REFERENCES memory_meta
) STRICT;

CREATE INDEX audit_by_time ON memory_audit (tenant_id, orchestrator_id, created_at, audit_no);

-- The words of memories and of their spans. Triggers keep them, so that they follow every change of a text; what is
-- deleted leaves no word behind.
CREATE VIRTUAL TABLE memory_fts USING fts5 (
  content, summary, content = 'memories', content_rowid = 'memory_no', tokenize = 'porter unicode61'
);
CREATE VIRTUAL TABLE memory_span_fts USING fts5 (
  text, content = 'memory_spans', content_rowid = 'span_no', tokenize = 'porter unicode61'
);
INSERT INTO memory_fts (memory_fts, rank) VALUES ('secure-delete', 1);
INSERT INTO memory_span_fts (memory_span_fts, rank) VALUES ('secure-delete', 1);

CREATE TRIGGER memories_in AFTER INSERT ON memories BEGIN
  INSERT INTO memory_fts (rowid, content, summary) VALUES (new.memory_no, new.content, new.summary);
END;
CREATE TRIGGER memories_out AFTER DELETE ON memories BEGIN
  INSERT INTO memory_fts (memory_fts, rowid, content, summary)
  VALUES ('delete', old.memory_no, old.content, old.summary);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF content, summary ON memories
WHEN new.content <> old.content OR new.summary <> old.summary BEGIN
  INSERT INTO memory_fts (memory_fts, rowid, content, summary)
  VALUES ('delete', old.memory_no, old.content, old.summary);
  INSERT INTO memory_fts (rowid, content, summary) VALUES (new.memory_no, new.content, new.summary);
END;
CREATE TRIGGER spans_in AFTER INSERT ON memory_spans BEGIN
  INSERT INTO memory_span_fts (rowid, text) VALUES (new.span_no, new.text);
END;
CREATE TRIGGER spans_out AFTER DELETE ON memory_spans BEGIN
  INSERT INTO memory_span_fts (memory_span_fts, rowid, text) VALUES ('delete', old.span_no, old.text);
END;

-- What the planner is to know, and would else guess wrongly: one orchestrator has all rows of a file. The numbers are
-- the rows of an index, and how many have the same first column, the same first two columns, and so on.
ANALYZE sqlite_schema;
DELETE FROM sqlite_stat1;
INSERT INTO sqlite_stat1 (tbl, idx, stat) VALUES
  ('memories', 'sqlite_autoindex_memories_1', '100000 100000 100000 1'),
  ('memories', 'memories_by_time', '100000 100000 100000 2 1'),
  ('memories', 'memories_by_type', '80000 80000 80000 10000 200 2 1'),
  ('memories', 'memories_by_subject', '40000 40000 40000 8000 10 2'),
  ('memory_sources', 'memory_sources', '100000 100000 100000 1'),
  ('memory_sources', 'sources_by_conversation', '50000 50000 50000 50'),
  ('memory_sources', 'sources_by_path', '50000 50000 50000 50'),
  ('memory_edges', 'memory_edges', '100000 100000 100000 1'),
  ('memory_edges', 'sqlite_autoindex_memory_edges_2', '100000 100000 100000 4 2 1'),
  ('memory_edges', 'edges_by_start', '100000 100000 100000 4 1'),
  ('memory_edges', 'edges_by_end', '100000 100000 100000 4 1'),
  ('memory_edges', 'contradictions', '1000 1000 1000 1 1'),
  ('memory_spans', 'sqlite_autoindex_memory_spans_1', '200000 200000 200000 2 1'),
  ('memory_embeddings', 'sqlite_autoindex_memory_embeddings_1', '100000 100000 100000 1 1 1'),
  ('memory_embeddings', 'embeddings_made', '100000 100000 100000 100000 1'),
  ('memory_embeddings', 'embeddings_to_make', '1000 1000 1000 1000 10 1'),
  ('memory_versions', 'memory_versions', '200000 200000 200000 2 1'),
  ('memory_audit', 'audit_by_time', '10000 10000 10000 1 1');
