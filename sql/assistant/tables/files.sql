-- A text file of a user. Folders are not kept: there is one wherever a file is below it. Paths are compared byte by byte,
-- so that all that is below a folder stands together. `words` is what the word search reads; no text of the largest size
-- that a config allows has more words than it holds.
CREATE TABLE IF NOT EXISTS assistant_files (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  path text COLLATE "C" NOT NULL,
  file_id uuid NOT NULL,
  version integer NOT NULL,
  text text NOT NULL,
  size_bytes integer NOT NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  words tsvector GENERATED ALWAYS AS (to_tsvector('simple'::regconfig, text)) STORED,
  PRIMARY KEY (tenant_id, user_id, path)
);

CREATE UNIQUE INDEX IF NOT EXISTS uq_assistant_files_id ON assistant_files (tenant_id, user_id, file_id);
CREATE INDEX IF NOT EXISTS idx_assistant_files_words ON assistant_files USING gin (words);

-- What a file said before; `written_at` is when it began to say so. The newest version stands in the file itself.
CREATE TABLE IF NOT EXISTS assistant_file_versions (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  file_id uuid NOT NULL,
  version integer NOT NULL,
  text text NOT NULL,
  size_bytes integer NOT NULL,
  written_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, file_id, version)
);
