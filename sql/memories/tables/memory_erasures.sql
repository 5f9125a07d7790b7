-- Erasures that go on, or were broken off: who is erased, whose conversations are the user's, and what went already. The
-- row goes when the receipt is written.
CREATE TABLE IF NOT EXISTS memory_erasures (
  tenant_id text NOT NULL,
  kind text NOT NULL CHECK (kind IN ('user', 'agent', 'tenant')),
  name text NOT NULL,
  receipt_id uuid NOT NULL,
  conversations text[] NOT NULL,
  erased jsonb NOT NULL DEFAULT '{}',
  began_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, kind, name)
);
-- What was erased, without a name: the receipt says of whom by a keyed hash.
CREATE TABLE IF NOT EXISTS memory_receipts (
  receipt_id uuid PRIMARY KEY,
  receipt jsonb NOT NULL,
  made_at timestamptz NOT NULL
);
-- What receipts are signed with, and names hashed with: one of the service, made when it is first needed.
CREATE TABLE IF NOT EXISTS memory_receipt_keys (
  is_the_key boolean PRIMARY KEY DEFAULT true CHECK (is_the_key),
  key bytea NOT NULL,
  made_at timestamptz NOT NULL
);
