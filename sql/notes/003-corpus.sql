-- What the index needs to know of the notes (elf/indexing/corpus.py). `source` is the reference, null for a large one.

CREATE OR REPLACE VIEW notes_corpus AS
SELECT
  note_id AS subject_id, text, created_at, updated_at AS changed_at, status = 'active' AS is_active, expires_at,
  embedding_version, tenant_id, project_id, agent_id, scope, type, key, status, importance, confidence,
  CASE WHEN pg_column_size(source_ref) <= 2048 THEN source_ref END AS source
FROM memory_notes;
