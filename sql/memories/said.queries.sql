-- What was said, and what becomes of it.

-- name: keep_said
-- Keeps what was said, unless it is there.
INSERT INTO memory_said
  (tenant_id, said_id, user_id, agent_id, project_id, read_profile, conversation, conversation_id, digest, who, said_at)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10, $11)
ON CONFLICT DO NOTHING
RETURNING said_id;

-- name: keep_messages
-- Keeps the messages for those families that wait for them.
UPDATE memory_said AS s SET messages = $3 WHERE s.tenant_id = $1 AND s.said_id = $2;

-- name: leave_said
-- Leaves it to families, in their order; those with is_over do not wait: it is done, or refused, already.
INSERT INTO memory_said_outbox (tenant_id, said_id, family, place, written, error_code, message, status)
SELECT $1, $2, t.family, t.place, t.written, t.error_code, t.message, CASE WHEN t.is_over THEN 'DONE' ELSE 'PENDING' END
FROM jsonb_to_recordset($3::jsonb)
  AS t (family text, place int, written jsonb, is_over boolean, error_code text, message text);

-- name: read_said
-- What was said by who asks, and what became of it.
SELECT s.conversation, s.digest, s.said_at, o.family, o.status, o.written, o.error_code, o.message, o.attempts
FROM memory_said AS s
JOIN memory_said_outbox AS o USING (tenant_id, said_id)
WHERE s.tenant_id = $1 AND s.said_id = $2 AND s.user_id IS NOT DISTINCT FROM $3
  AND s.agent_id IS NOT DISTINCT FROM $4 AND s.project_id IS NOT DISTINCT FROM $5
  AND s.read_profile IS NOT DISTINCT FROM $6
ORDER BY o.place;

-- name: read_job
-- What a leased job is about.
SELECT s.tenant_id, s.said_id, s.user_id, s.agent_id, s.project_id, s.conversation,
  s.conversation_id, s.messages, s.who, o.family
FROM memory_said_outbox AS o
JOIN memory_said AS s USING (tenant_id, said_id)
WHERE o.outbox_id = $1 AND o.status IN ('PENDING', 'FAILED');

-- name: lock_said
-- Has those who end jobs of what was said come one after the other.
SELECT FROM memory_said AS s WHERE s.tenant_id = $1 AND s.said_id = $2 FOR UPDATE;

-- name: tell_written
-- Tells what became of a job that ends with this transaction.
UPDATE memory_said_outbox AS o
SET written = t.written, error_code = t.error_code, message = t.message
FROM jsonb_to_record($2::jsonb) AS t (written jsonb, error_code text, message text)
WHERE o.outbox_id = $1;

-- name: forget_messages
-- What was said does not stay here when nobody waits for it, nor may have it tried again.
UPDATE memory_said AS s SET messages = NULL
WHERE s.tenant_id = $1 AND s.said_id = $2 AND NOT EXISTS (
  SELECT FROM memory_said_outbox AS o
  WHERE o.tenant_id = s.tenant_id AND o.said_id = s.said_id AND o.status IN ('PENDING', 'FAILED', 'GIVEN_UP'));

-- name: discard_jobs
-- As that of every outbox. What was said does not stay here when no other family waits for it.
WITH chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM memory_said_outbox AS o
  WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status = 'GIVEN_UP' AND ($2::text IS NULL OR o.tenant_id = $2)
  FOR UPDATE OF o
), discarded AS (
  UPDATE memory_said_outbox AS o
  SET status = 'DISCARDED', leases = o.leases + 1, available_at = now(), updated_at = now()
  FROM chosen AS c WHERE o.outbox_id = c.outbox_id
  RETURNING o.outbox_id, o.tenant_id, o.said_id
), forgotten AS (
  UPDATE memory_said AS s SET messages = NULL
  FROM (SELECT DISTINCT tenant_id, said_id FROM discarded) AS d
  WHERE s.tenant_id = d.tenant_id AND s.said_id = d.said_id AND NOT EXISTS (
    SELECT FROM memory_said_outbox AS o
    WHERE o.tenant_id = s.tenant_id AND o.said_id = s.said_id AND o.status IN ('PENDING', 'FAILED', 'GIVEN_UP')
      AND o.outbox_id <> ALL ($1))
)
SELECT outbox_id FROM discarded;

-- name: drop_old_said
-- Removes what was said before $1 and is done with.
DELETE FROM memory_said AS s
USING (
  SELECT o.tenant_id, o.said_id FROM memory_said AS o
  WHERE o.said_at < $1 AND o.messages IS NULL ORDER BY o.said_at LIMIT $2 FOR UPDATE SKIP LOCKED
) AS old
WHERE (s.tenant_id, s.said_id) = (old.tenant_id, old.said_id)
RETURNING s.said_id;

-- name: erase_said
-- Removes what was said of a tenant, or by one of its users or agents.
DELETE FROM memory_said AS s
WHERE s.tenant_id = $1 AND ($2::text IS NULL OR s.user_id = $2) AND ($3::text IS NULL OR s.agent_id = $3)
RETURNING s.said_id;

-- name: unname_project_of_said
-- Takes the project of a user ($2) off what others said there. Nobody makes notes of it any more: they would be the user's.
WITH said AS (
  UPDATE memory_said AS s SET project_id = NULL
  WHERE s.tenant_id = $1 AND s.project_id = $2 AND s.user_id IS DISTINCT FROM $2
  RETURNING s.said_id
), undone AS (
  UPDATE memory_said_outbox AS o SET status = 'DONE', leases = o.leases + 1
  FROM said AS s
  WHERE o.tenant_id = $1 AND o.said_id = s.said_id AND o.family = 'notes' AND o.status IN ('PENDING', 'FAILED', 'GIVEN_UP')
)
SELECT s.said_id FROM said AS s;
