-- Who is told of changes. What is null is everything: families, events, tenants.
CREATE TABLE IF NOT EXISTS webhooks (
  name text PRIMARY KEY,
  families text[] NULL,
  events text[] NULL,
  tenants text[] NULL,
  added_at timestamptz NOT NULL DEFAULT now()
);
