-- What was shown before it is forgotten.

-- name: keep_forget_handle
-- Keeps what was shown to somebody.
INSERT INTO memory_forget_handles
  (tenant_id, handle_id, user_id, agent_id, project_id, read_profile, items, expires_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8);

-- name: read_forget_handle
-- Reads what was shown, for who it was shown to, and bound as then.
SELECT h.items FROM memory_forget_handles AS h
WHERE h.tenant_id = $1 AND h.handle_id = $2 AND h.user_id IS NOT DISTINCT FROM $3
  AND h.agent_id IS NOT DISTINCT FROM $4 AND h.project_id IS NOT DISTINCT FROM $5
  AND h.read_profile IS NOT DISTINCT FROM $6 AND h.expires_at > $7;

-- name: drop_expired_forget_handles
-- Removes handles that are not good any more.
DELETE FROM memory_forget_handles AS h
USING (
  SELECT tenant_id, handle_id FROM memory_forget_handles WHERE expires_at <= $1
  ORDER BY expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS expired
WHERE (h.tenant_id, h.handle_id) = (expired.tenant_id, expired.handle_id)
RETURNING h.handle_id;

-- name: erase_forget_handles
-- Removes handles of a tenant, or of one of its users or agents, as those of others that name them are no longer good.
DELETE FROM memory_forget_handles AS h
WHERE h.tenant_id = $1 AND (
  $2::text IS NULL AND $3::text IS NULL
  OR h.user_id = $2 OR h.project_id = $2 OR h.agent_id = $3
  OR jsonb_path_exists(h.items, '$.** ? (@ == $name)', jsonb_build_object('name', coalesce($2, $3))))
RETURNING h.handle_id;
