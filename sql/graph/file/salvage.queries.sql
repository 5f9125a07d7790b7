-- What is kept of a damaged file, written into a new one as it was.

-- name: keep_version
-- Keeps what a memory has been.
INSERT INTO memory_versions (
  tenant_id, orchestrator_id, memory_id, version, operation, memory, reason, actor, created_at
) VALUES (
  :tenant_id, :orchestrator_id, :memory_id, :version, :operation, :memory, :reason, :actor, :created_at
);

-- name: keep_edge
-- Keeps an edge, and how it was resolved.
INSERT INTO memory_edges (
  tenant_id, orchestrator_id, edge_id, from_memory_id, to_memory_id, edge_type, weight, reason, created_at, resolution,
  resolution_reason, resolved_at
) VALUES (
  :tenant_id, :orchestrator_id, :edge_id, :from_memory_id, :to_memory_id, :edge_type, :weight, :reason, :created_at,
  :resolution, :resolution_reason, :resolved_at
);

-- name: keep_ingest
-- Keeps which file was taken in.
INSERT INTO memory_ingests (
  tenant_id, orchestrator_id, ingest_key, dropped_name, final_name, memory_ids, memories_written, edges_written, extractor,
  skipped, taken_at, finished_at, indexed_chars, is_erased
) VALUES (
  :tenant_id, :orchestrator_id, :ingest_key, :dropped_name, :final_name, :memory_ids, :memories_written, :edges_written,
  :extractor, :skipped, :taken_at, :finished_at, :indexed_chars, :is_erased
);

-- name: keep_audit
-- Keeps what was done.
INSERT INTO memory_audit (tenant_id, orchestrator_id, event, actor, detail, created_at)
VALUES (:tenant_id, :orchestrator_id, :event, :actor, :detail, :created_at);

-- name: keep_change
-- Keeps what is still to be told.
INSERT INTO memory_changes (tenant_id, orchestrator_id, change_id, event, memory_id, by_memory_id)
VALUES (:tenant_id, :orchestrator_id, :change_id, :event, :memory_id, :by_memory_id);
