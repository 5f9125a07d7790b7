-- Stories, and what the index makes of them.

CREATE TABLE IF NOT EXISTS stories (
  story_id uuid PRIMARY KEY,
  tenant_id text NOT NULL,
  project_id text NOT NULL,
  text text NOT NULL,
  is_over boolean NOT NULL DEFAULT false,
  embedding_version text NOT NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  changed_at timestamptz NOT NULL DEFAULT now()
);

CREATE OR REPLACE VIEW toy_corpus_corpus AS
SELECT story_id AS subject_id, text, created_at, changed_at, NOT is_over AS is_active, NULL::timestamptz AS expires_at,
  embedding_version, tenant_id, project_id
FROM stories;

\ir ../../../../sql/indexing/tables.sql corpus=toy_corpus rows=stories key=story_id
\ir ../../../../sql/indexing/lanes.sql corpus=toy_corpus
