-- One row for each combination of the fields that searches filter by. A filter picks shelves, of which there are few,
-- and then looks up points by their shelf. `shelf` is a digest of the fields, `place` one of tenant and project alone.
CREATE TABLE IF NOT EXISTS index_shelves<space> (
  shelf bigint PRIMARY KEY,
  place bigint NOT NULL,
  fields jsonb NOT NULL
);

-- fastupdate off: a search must not go through a list of pending entries.
CREATE INDEX IF NOT EXISTS idx_index_shelves<space>_fields ON index_shelves<space> USING gin (fields jsonb_path_ops)
  WITH (fastupdate = off);
