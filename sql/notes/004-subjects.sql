-- What is left of purged notes can be found by whose they were, to be erased with the rest.

CREATE INDEX IF NOT EXISTS idx_note_versions_purged ON memory_note_versions (
  (prev_snapshot ->> 'tenant_id'), (prev_snapshot ->> 'project_id')) WHERE op = 'PURGE';
