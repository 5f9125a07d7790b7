-- What is read and written of a user's values. $1 and $2 are always the tenant and the user. What has expired is not there.

-- name: get_items
-- Values by their addresses ($4) that are there at a moment ($3).
SELECT i.item_id, i.address, octet_length(i.value::text) AS bytes, i.ttl
FROM store_items AS i
WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.address = ANY ($4::bytea[])
  AND (i.expires_at IS NULL OR i.expires_at > $3);

-- name: find_newest
-- Values within a prefix ($4, which lies from $5 to before $6) that meet all conditions ($7), the newest first. How large
-- they are is told of those that are found alone, for it is read from all of a value.
SELECT f.item_id, octet_length(f.value::text) AS bytes, f.ttl, NULL::float8 AS score
FROM (
  SELECT i.item_id, i.value, i.ttl, i.updated_at, i.path, i.key
  FROM store_items AS i
  WHERE i.tenant_id = $1 AND i.user_id = $2 AND <within> AND <meets>
  ORDER BY i.updated_at DESC, i.path, i.key LIMIT $8 OFFSET $9
) AS f
ORDER BY f.updated_at DESC, f.path, f.key;

-- name: find_nearest
-- As find_newest, those whose vectors of the model $11 are most like a vector ($10) first. What has none is not found.
SELECT f.item_id, octet_length(f.value::text) AS bytes, f.ttl, f.score
FROM (
  SELECT i.item_id, i.value, i.ttl, n.score, i.updated_at, i.path, i.key
  FROM store_items AS i
  JOIN LATERAL (
    SELECT max(1 - (v.embedding <=> $10)) AS score FROM store_vectors AS v
    WHERE v.item_id = i.item_id AND v.embedding_version = $11
  ) AS n ON n.score IS NOT NULL
  WHERE i.tenant_id = $1 AND i.user_id = $2 AND <within> AND <meets>
  ORDER BY n.score DESC, i.updated_at DESC, i.path, i.key LIMIT $8 OFFSET $9
) AS f
ORDER BY f.score DESC, f.updated_at DESC, f.path, f.key;

-- name: load_items
-- Values by their ids ($3).
SELECT i.item_id, i.address, i.namespace, i.key, i.value::text AS value, i.created_at, i.updated_at, i.expires_at
FROM store_items AS i
WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.item_id = ANY ($3::uuid[]);

-- name: refresh_items
-- Has values that were read at a moment ($3) end anew, as long after it as each lives.
UPDATE store_items AS i SET expires_at = $3 + i.ttl
WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.item_id = ANY ($4::uuid[]) AND i.ttl IS NOT NULL AND i.expires_at > $3;

-- name: list_namespaces
-- Namespaces that are not empty at a moment ($3), cut off at a depth ($5), that match all conditions ($4): each has a
-- path whose labels, but for *, are those at the begin or at the end.
SELECT DISTINCT n.namespace[1:$5] AS namespace
FROM (
  SELECT DISTINCT i.namespace FROM store_items AS i
  WHERE i.tenant_id = $1 AND i.user_id = $2 AND (i.expires_at IS NULL OR i.expires_at > $3)
) AS n
WHERE NOT EXISTS (
  SELECT FROM jsonb_array_elements($4::jsonb) AS c (one)
  WHERE cardinality(n.namespace) < jsonb_array_length(c.one -> 'path') OR EXISTS (
    SELECT FROM jsonb_array_elements_text(c.one -> 'path') WITH ORDINALITY AS p (label, place)
    WHERE p.label <> '*' AND p.label <> n.namespace[(p.place + CASE c.one ->> 'match'
      WHEN 'suffix' THEN cardinality(n.namespace) - jsonb_array_length(c.one -> 'path') ELSE 0 END)::int]))
ORDER BY 1 LIMIT $6 OFFSET $7;

-- name: put_items
-- Writes values at a moment ($3), each whole. What takes the place of another keeps when that was made.
INSERT INTO store_items AS i (
  tenant_id, user_id, address, path, namespace, key, value, indexed, ttl, expires_at, revision, created_at, updated_at)
SELECT $1, $2, g.address, g.path, string_to_array(left(g.path, -1), '.'), g.key, g.value::json, g.indexed::jsonb, g.ttl,
  $3::timestamptz + g.ttl, g.revision, $3, $3
FROM unnest($4::bytea[], $5::text[], $6::text[], $7::text[], $8::text[], $9::interval[], $10::uuid[])
  AS g (address, path, key, value, indexed, ttl, revision)
ORDER BY g.address
ON CONFLICT (tenant_id, user_id, address) DO UPDATE SET
  value = excluded.value, indexed = excluded.indexed, ttl = excluded.ttl, expires_at = excluded.expires_at,
  revision = excluded.revision, updated_at = greatest(excluded.updated_at, i.updated_at + interval '1 microsecond'),
  created_at = CASE WHEN i.expires_at <= $3 THEN excluded.created_at ELSE i.created_at END
RETURNING i.item_id, i.revision;

-- name: delete_items
-- Removes values by their addresses ($3), with their vectors.
DELETE FROM store_items AS i WHERE i.tenant_id = $1 AND i.user_id = $2 AND i.address = ANY ($3::bytea[]);
