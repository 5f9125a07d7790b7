-- The files that were taken into one memory.

-- name: ingest_by_key
-- Reads the row of a file.
SELECT ingest_key, dropped_name, final_name, taken_at, memory_ids, memories_written, edges_written, extractor, skipped,
       indexed_chars, finished_at
FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND ingest_key = :ingest_key;

-- name: ingests_to_finish
-- Reads the rows of files that may not be where they end, or have no manifest, in the order in which they were taken in.
SELECT ingest_key, dropped_name, final_name, taken_at, memory_ids, memories_written, edges_written, extractor, skipped,
       indexed_chars, finished_at
FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND finished_at IS NULL
ORDER BY taken_at, ingest_key;

-- name: insert_ingest
-- Says that a file is being taken in.
INSERT INTO memory_ingests (
  tenant_id, orchestrator_id, ingest_key, dropped_name, final_name, taken_at, memory_ids, memories_written,
  edges_written, extractor, skipped, indexed_chars
) VALUES (
  :tenant_id, :orchestrator_id, :ingest_key, :dropped_name, :final_name, :taken_at, :memory_ids, :memories_written,
  :edges_written, :extractor, :skipped, :indexed_chars
);

-- name: finish_ingest
-- Says that a file is where it ends, with its manifest, unless a memory of it was erased.
UPDATE memory_ingests SET finished_at = :finished_at
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND ingest_key = :ingest_key AND NOT is_erased;

-- name: forget_erased_ingest
-- Forgets a file of which a memory was erased.
DELETE FROM memory_ingests
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND ingest_key = :ingest_key AND is_erased;

-- name: put_quote
-- Keeps the words of a file that a memory was made of.
INSERT INTO memory_quotes (tenant_id, orchestrator_id, memory_id, quote, start, "end")
VALUES (:tenant_id, :orchestrator_id, :memory_id, :quote, :start, :end)
ON CONFLICT (tenant_id, orchestrator_id, memory_id) DO UPDATE
SET quote = excluded.quote, start = excluded.start, "end" = excluded."end";

-- name: quote_of_memory
-- Reads the words of a file that a memory was made of, and where they stand in its text.
SELECT quote, start, "end"
FROM memory_quotes
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND memory_id = :memory_id;
