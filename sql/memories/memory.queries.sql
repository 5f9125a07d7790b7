-- What recalls over all families keep.

-- name: read_memory_tokens
-- Reads the token vectors of texts of a tenant, by one version.
SELECT k.digest, k.tokens, k.vectors, k.used_on FROM memory_tokens AS k
WHERE k.tenant_id = $1 AND k.digest = ANY ($2::bytea[]) AND k.version = $3;

-- name: keep_memory_tokens
-- Keeps the token vectors of texts, over those of another version. Nothing tells whose the texts are: those that were known at
-- $7, before the end of an erasure, may be gone.
INSERT INTO memory_tokens AS k (tenant_id, digest, version, tokens, vectors, used_on)
SELECT $1, t.digest, $2, t.tokens, t.vectors, $6
FROM unnest($3::bytea[], $4::int[], $5::bytea[]) AS t (digest, tokens, vectors)
WHERE NOT EXISTS (SELECT FROM erased_owners AS e WHERE e.erased_at >= $7)
  AND NOT EXISTS (SELECT FROM memory_erasures AS e WHERE e.tenant_id = $1)
ORDER BY t.digest
ON CONFLICT (tenant_id, digest) DO UPDATE SET
  version = excluded.version, tokens = excluded.tokens, vectors = excluded.vectors, used_on = excluded.used_on
WHERE k.version <> excluded.version;

-- name: use_memory_tokens
-- Notes that token vectors were used on a day.
UPDATE memory_tokens AS k SET used_on = $3
WHERE k.tenant_id = $1 AND k.digest = ANY (ARRAY(
  SELECT u.digest FROM memory_tokens AS u WHERE u.tenant_id = $1 AND u.digest = ANY ($2::bytea[]) AND u.used_on < $3
  ORDER BY u.digest FOR UPDATE SKIP LOCKED));

-- name: drop_unused_memory_tokens
-- Removes token vectors that nobody used since a day.
DELETE FROM memory_tokens AS k
USING (
  SELECT tenant_id, digest FROM memory_tokens WHERE used_on < $1 ORDER BY used_on LIMIT $2 FOR UPDATE SKIP LOCKED
) AS unused
WHERE (k.tenant_id, k.digest) = (unused.tenant_id, unused.digest)
RETURNING k.digest;

-- name: keep_memory_trace
-- Keeps what an answer was made of. The answer does not wait until it is on the disk: a trace may go with a crash.
WITH unhurried AS MATERIALIZED (SELECT set_config('synchronous_commit', 'off', true))
INSERT INTO memory_traces
  (tenant_id, trace_id, user_id, agent_id, project_id, read_profile, query, content, created_at, expires_at)
SELECT $1, $2, $3, $4, $5, $6, $7, $8, $9, $10 FROM unhurried;

-- name: read_memory_trace
-- Reads what an answer about this user, agent and project was made of, for who is bound as the one who asked.
SELECT t.query, t.content, t.created_at FROM memory_traces AS t
WHERE t.tenant_id = $1 AND t.trace_id = $2 AND t.user_id IS NOT DISTINCT FROM $3
  AND t.agent_id IS NOT DISTINCT FROM $4 AND t.project_id IS NOT DISTINCT FROM $5
  AND t.read_profile IS NOT DISTINCT FROM $6 AND t.expires_at > $7;

-- name: drop_expired_memory_traces
-- Removes traces past their time.
DELETE FROM memory_traces AS t
USING (
  SELECT tenant_id, trace_id FROM memory_traces WHERE expires_at <= $1
  ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS expired
WHERE (t.tenant_id, t.trace_id) = (expired.tenant_id, expired.trace_id)
RETURNING t.trace_id;

-- name: erase_memory_traces
-- Removes traces of a tenant, or of one of its users or agents: also those of others that name the user's project, or
-- whose items have the name in their address, as those of an orchestrator do.
DELETE FROM memory_traces AS t
WHERE t.tenant_id = $1 AND (
  $2::text IS NULL AND $3::text IS NULL
  OR t.user_id = $2 OR t.project_id = $2 OR t.agent_id = $3
  OR jsonb_path_exists(
    t.content::jsonb, '$.** ? (@ == $name)', jsonb_build_object('name', coalesce($2, $3))))
RETURNING t.trace_id;

-- name: erase_memory_tokens
-- Removes all token vectors of a tenant: they are of texts that nobody can tell apart here, and are made again.
DELETE FROM memory_tokens AS k WHERE k.tenant_id = $1 RETURNING k.digest;
