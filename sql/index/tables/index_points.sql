-- The points; vectors have length 1 (or are all zeros), so that the inner product is the cosine. They stay in the row
-- up to a page (some 2,000 dimensions): exact search then reads no TOAST table. No foreign keys: it is a derived store.
CREATE TABLE IF NOT EXISTS index_points<space> (
  point_id uuid PRIMARY KEY,
  owner_id uuid NOT NULL,
  shelf bigint NOT NULL,
  updated_at text NOT NULL,
  dense vector(<vector_dim>) NOT NULL
) WITH (toast_tuple_target = 8160);

-- What a search may be narrowed by beside the shelf; created_at is null where these are not known yet.
ALTER TABLE index_points<space>
  ADD COLUMN IF NOT EXISTS key text NULL,
  ADD COLUMN IF NOT EXISTS created_at timestamptz NULL,
  ADD COLUMN IF NOT EXISTS changed_at timestamptz NULL,
  ADD COLUMN IF NOT EXISTS tags uuid[] NOT NULL DEFAULT '{}';

-- Mostly empty.
CREATE INDEX IF NOT EXISTS idx_index_points<space>_undated ON index_points<space> (point_id) WHERE created_at IS NULL;

CREATE INDEX IF NOT EXISTS idx_index_points<space>_shelf ON index_points<space> (shelf);

CREATE INDEX IF NOT EXISTS idx_index_points<space>_owner ON index_points<space> (owner_id);
