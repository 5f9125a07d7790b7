-- A value of a user's, as it was written. `address` is the digest of namespace and key, which may be longer than an index
-- takes; `path` is the namespace with a dot behind each label. `revision` is new with each write. `indexed` are the paths
-- whose texts have vectors, null where none has. With a `ttl` it ends that long after it was read or written last.
CREATE TABLE IF NOT EXISTS store_items (
  tenant_id text NOT NULL,
  user_id text NOT NULL,
  address bytea NOT NULL,
  item_id uuid NOT NULL DEFAULT gen_random_uuid(),
  revision uuid NOT NULL,
  namespace text[] COLLATE "C" NOT NULL,
  path text COLLATE "C" NOT NULL,
  key text COLLATE "C" NOT NULL,
  value json NOT NULL,
  indexed jsonb NULL,
  ttl interval NULL,
  expires_at timestamptz NULL,
  created_at timestamptz NOT NULL,
  updated_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, user_id, address),
  CONSTRAINT store_items_ttl CHECK ((ttl IS NULL) = (expires_at IS NULL))
);

CREATE UNIQUE INDEX IF NOT EXISTS uq_store_items_item ON store_items (item_id);
CREATE UNIQUE INDEX IF NOT EXISTS uq_store_items_revision ON store_items (revision);
CREATE INDEX IF NOT EXISTS idx_store_items_path ON store_items (tenant_id, user_id, left(path, 300));
CREATE INDEX IF NOT EXISTS idx_store_items_newest ON store_items (tenant_id, user_id, updated_at DESC);
CREATE INDEX IF NOT EXISTS idx_store_items_expiry ON store_items (expires_at) WHERE expires_at IS NOT NULL;
