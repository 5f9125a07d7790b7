-- What contexts showed users, by keyed digests.

-- name: keep_context_lines
-- Keeps what a context shows a user ($2) until $4.
INSERT INTO memory_context_lines AS l (tenant_id, user_id, digest, expires_at)
SELECT $1, $2, d.d, $4 FROM (SELECT DISTINCT d FROM unnest($3::bytea[]) AS d (d) ORDER BY d) AS d
ON CONFLICT (tenant_id, user_id, digest) DO UPDATE SET expires_at = excluded.expires_at
WHERE l.expires_at < excluded.expires_at - interval '1 hour';

-- name: known_context_lines
-- Those of some digests ($3) that a context showed the user not long ago.
SELECT l.digest FROM memory_context_lines AS l
WHERE l.tenant_id = $1 AND l.user_id = $2 AND l.digest = ANY ($3::bytea[]) AND l.expires_at > $4;

-- name: drop_expired_context_lines
-- Removes what was shown long ago.
DELETE FROM memory_context_lines AS l
USING (
  SELECT tenant_id, user_id, digest FROM memory_context_lines WHERE expires_at <= $1
  ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS expired
WHERE (l.tenant_id, l.user_id, l.digest) = (expired.tenant_id, expired.user_id, expired.digest)
RETURNING l.digest;

-- name: erase_context_lines
-- Removes what was shown to all users of a tenant, or to one ($2); it says of no agent ($3) that it was shown there.
DELETE FROM memory_context_lines AS l
WHERE l.tenant_id = $1 AND ($2::text IS NULL OR l.user_id = $2) AND $3::text IS NULL
RETURNING l.digest;
