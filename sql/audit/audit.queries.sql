-- The audit log.

-- name: record_audited_call
-- Records a call: that it begins (with the outcome `begun`), or what became of it. $13 to $16 are the fields of the subject
-- that hold one name each, the names, and for each name the hashes that stand for a user and for an agent of that name; $9
-- is the hash of the tenant. The hash of somebody who was erased takes the place of the name. A beginning that comes late
-- changes nothing.
INSERT INTO audit_log AS c (
  call_id, called_at, request_id, operation, caller_user, caller_client, caller_role, tenant_id, subject,
  outcome, status, items, ended_at)
SELECT
  $1, $2, $3, $4, $5, $6, $7,
  coalesce((SELECT p.pseudonym FROM audit_pseudonyms AS p WHERE p.pseudonym = $9::text), $8::text),
  $17::jsonb || coalesce((
    SELECT jsonb_object_agg(n.field, coalesce(u.pseudonym, g.pseudonym, n.name))
    FROM unnest($13::text[], $14::text[], $15::text[], $16::text[]) AS n (field, name, as_user, as_agent)
    LEFT JOIN audit_pseudonyms AS u ON u.pseudonym = n.as_user
    LEFT JOIN audit_pseudonyms AS g ON g.pseudonym = n.as_agent
  ), '{}'),
  $10, $11, $12, CASE WHEN $10 = 'begun' THEN NULL ELSE $18::timestamptz END
ON CONFLICT (call_id) DO UPDATE
  SET outcome = excluded.outcome, status = excluded.status, items = excluded.items, ended_at = excluded.ended_at
  WHERE excluded.outcome <> 'begun';

-- name: end_audited_call
-- Records what became of a call that has begun.
UPDATE audit_log AS a SET outcome = $2, status = $3, items = $4, ended_at = $5 WHERE a.call_id = $1;

-- name: list_audited_calls
-- Lists calls before a place, newest first: of tenants, callers, an operation, subjects and a period, where these are given.
SELECT
  a.call_id, a.called_at, a.ended_at, a.request_id, a.operation, a.caller_user, a.caller_client, a.caller_role, a.tenant_id,
  a.subject, a.outcome, a.status, a.items
FROM audit_log AS a
WHERE (a.called_at, a.call_id) < ($1::timestamptz, $2::uuid)
  AND ($3::text[] IS NULL OR a.tenant_id = ANY ($3))
  AND ($4::text[] IS NULL OR a.caller_user = ANY ($4) OR a.caller_client = ANY ($4))
  AND ($5::text IS NULL OR a.operation = $5)
  AND ($6::text[] IS NULL OR jsonb_path_query_array(a.subject, '$.*[*]') ?| $6)
  AND ($7::timestamptz IS NULL OR a.called_at >= $7)
  AND ($8::timestamptz IS NULL OR a.called_at < $8)
ORDER BY a.called_at DESC, a.call_id DESC
LIMIT $9;

-- name: audited_calls_naming_user
-- Locks calls that name a user ($3) of a tenant ($1, or by its hash $2), as the caller or as a subject.
SELECT a.call_id, a.caller_user, a.caller_client, a.tenant_id, a.subject FROM audit_log AS a
WHERE (a.tenant_id IN ($1, $2) OR a.tenant_id IS NULL)
  AND (a.caller_user = $3 OR jsonb_path_query_array(a.subject, '$.*[*]') ? $3)
LIMIT $4 FOR UPDATE;

-- name: audited_calls_naming_agent
-- The same of an agent.
SELECT a.call_id, a.caller_user, a.caller_client, a.tenant_id, a.subject FROM audit_log AS a
WHERE (a.tenant_id IN ($1, $2) OR a.tenant_id IS NULL)
  AND (a.caller_client = $3 OR jsonb_path_query_array(a.subject, '$.*[*]') ? $3)
LIMIT $4 FOR UPDATE;

-- name: audited_calls_of_tenant
-- Locks calls of a tenant, and those that have come since it was erased before and say who called.
SELECT a.call_id, a.caller_user, a.caller_client, a.tenant_id, a.subject FROM audit_log AS a
WHERE a.tenant_id = $1
  OR a.tenant_id = $2 AND (a.caller_user NOT LIKE 'hmac-%' OR a.caller_client NOT LIKE 'hmac-%')
LIMIT $3 FOR UPDATE;

-- name: rename_in_audited_calls
-- Writes other names into calls.
UPDATE audit_log AS a
SET caller_user = n.caller_user, caller_client = n.caller_client, tenant_id = n.tenant_id, subject = n.subject
FROM unnest($1::uuid[], $2::text[], $3::text[], $4::text[], $5::jsonb[])
  AS n (call_id, caller_user, caller_client, tenant_id, subject)
WHERE a.call_id = n.call_id;

-- name: keep_pseudonyms
-- Has calls that come later say the hashes of those who were erased.
INSERT INTO audit_pseudonyms (pseudonym) SELECT unnest($1::text[]) ON CONFLICT DO NOTHING;

-- name: lock_audit_log
-- Waits for calls that are being recorded, and keeps others waiting until the transaction ends.
LOCK TABLE audit_log IN SHARE ROW EXCLUSIVE MODE;

-- name: drop_old_audited_calls
-- Removes calls from before a moment, at most so many.
DELETE FROM audit_log AS a WHERE a.call_id IN (
  SELECT o.call_id FROM audit_log AS o WHERE o.called_at < $1 ORDER BY o.called_at LIMIT $2)
RETURNING a.call_id;
