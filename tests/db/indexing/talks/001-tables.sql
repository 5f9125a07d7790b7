-- A family of a table: what somebody said in a group.
CREATE TABLE IF NOT EXISTS talk_entries (
  entry_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  group_id text NOT NULL,
  speaker text NOT NULL,
  said text NOT NULL,
  is_withdrawn boolean NOT NULL DEFAULT false,
  expires_at timestamptz NULL,
  embedding_version text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE OR REPLACE VIEW talks_corpus AS
SELECT
  entry_id AS subject_id, said AS text, created_at, changed_at, NOT is_withdrawn AS is_active, expires_at,
  embedding_version, tenant_id, group_id, speaker
FROM talk_entries;

\ir ../../../../sql/indexing/tables.sql corpus=talks rows=talk_entries key=entry_id
\ir ../../../../sql/indexing/lanes.sql corpus=talks
