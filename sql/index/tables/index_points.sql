-- The points; vectors have length 1 (or are all zeros), so that the inner product is the cosine. They stay in the row
-- up to a page (some 2,000 dimensions): exact search then reads no TOAST table. No foreign keys: it is a derived store.
CREATE TABLE IF NOT EXISTS index_points (
  point_id uuid PRIMARY KEY,
  owner_id uuid NOT NULL,
  shelf bigint NOT NULL,
  updated_at text NOT NULL,
  dense vector(<vector_dim>) NOT NULL
) WITH (toast_tuple_target = 8160);

CREATE INDEX IF NOT EXISTS idx_index_points_shelf ON index_points (shelf);

CREATE INDEX IF NOT EXISTS idx_index_points_owner ON index_points (owner_id);
