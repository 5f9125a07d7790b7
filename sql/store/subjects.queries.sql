-- All that there is of a user, or of a tenant where the user is null.

-- name: exported_places
-- A page of values that are there at a moment ($3), behind a place ($4, $5), and how large each is.
SELECT i.user_id, i.address, i.item_id, octet_length(i.value::text) AS bytes
FROM store_items AS i
WHERE i.tenant_id = $1 AND ($2::text IS NULL OR i.user_id = $2) AND (i.expires_at IS NULL OR i.expires_at > $3)
  AND (i.user_id, i.address) > ($4, $5)
ORDER BY i.user_id, i.address LIMIT $6;

-- name: export_items
-- Those of some values ($2) that are still there, in the order of an export.
SELECT i.user_id, i.address, i.namespace, i.key, i.value::text AS value, i.indexed, i.ttl, i.expires_at, i.created_at,
  i.updated_at
FROM store_items AS i
WHERE i.tenant_id = $1 AND i.item_id = ANY ($2::uuid[])
ORDER BY i.user_id, i.address;

-- name: restore_items
-- Keeps values as they were elsewhere. What is there already stays as it is.
INSERT INTO store_items AS i (
  tenant_id, user_id, address, path, namespace, key, value, indexed, ttl, expires_at, revision, created_at, updated_at)
SELECT $1, $2, g.address, g.path, string_to_array(left(g.path, -1), '.'), g.key, g.value::json, g.indexed::jsonb, g.ttl,
  g.expires_at, g.revision, g.created_at, g.updated_at
FROM unnest($3::bytea[], $4::text[], $5::text[], $6::text[], $7::text[], $8::interval[], $9::uuid[],
    $10::timestamptz[], $11::timestamptz[], $12::timestamptz[])
  AS g (address, path, key, value, indexed, ttl, revision, expires_at, created_at, updated_at)
ORDER BY g.address
ON CONFLICT (tenant_id, user_id, address) DO NOTHING
RETURNING i.revision, i.indexed IS NOT NULL AS is_indexed;
