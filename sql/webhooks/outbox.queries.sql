-- What webhooks are told of, and how far that is. <webhook> is the one whose outbox this is: a-z, 0-9 and _.

-- name: lease_jobs
-- As that of every outbox, of one webhook: of each lane that nobody is at, up to $3 from the first on. An index leads from
-- lane to lane, so what waits behind a receiver that is away costs nothing. What is FAILED is put off, and not leased.
WITH RECURSIVE lanes AS (
  (SELECT o.lane, o.seq, o.available_at FROM webhook_outbox AS o
   WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED')
   ORDER BY o.lane, o.seq LIMIT 1)
  UNION ALL
  SELECT next.* FROM lanes AS l CROSS JOIN LATERAL (
    SELECT o.lane, o.seq, o.available_at FROM webhook_outbox AS o
    WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.lane > l.lane
    ORDER BY o.lane, o.seq LIMIT 1
  ) AS next
), heads AS (
  SELECT l.lane, l.seq, l.available_at FROM lanes AS l WHERE l.available_at <= now() ORDER BY l.available_at, l.seq LIMIT $1
), due AS MATERIALIZED (
  SELECT o.outbox_id, o.available_at
  FROM (
    SELECT n.outbox_id FROM heads AS h CROSS JOIN LATERAL (
      SELECT o.outbox_id, o.seq FROM webhook_outbox AS o
      WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.lane = h.lane
      ORDER BY o.seq LIMIT $3
    ) AS n
    ORDER BY h.available_at, h.seq, n.seq LIMIT $1
  ) AS chosen
  JOIN webhook_outbox AS o USING (outbox_id)
  WHERE o.available_at <= now()
  FOR UPDATE OF o SKIP LOCKED
), leased AS (
  UPDATE webhook_outbox AS o
  SET status = 'PENDING', available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM due
  WHERE o.outbox_id = due.outbox_id
  RETURNING o.outbox_id, o.event_id AS subject_id, o.attempts, o.created_at, o.leases AS lease, o.seq
)
SELECT outbox_id, subject_id, attempts, created_at, lease FROM leased ORDER BY seq;

-- name: finish_jobs
-- Removes what was delivered, and tells which: not those that somebody else has leased since.
DELETE FROM webhook_outbox AS o USING unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease)
WHERE o.outbox_id = t.outbox_id AND o.leases = t.lease
RETURNING o.outbox_id;

-- name: release_abandoned
-- As that of every outbox, of one webhook.
WITH abandoned AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o
  WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.available_at > now()
  LIMIT $1
  FOR UPDATE SKIP LOCKED
)
UPDATE webhook_outbox AS o SET available_at = now(), leases = o.leases + 1, updated_at = now()
FROM abandoned WHERE o.outbox_id = abandoned.outbox_id
RETURNING o.outbox_id;

-- name: outbox_statistics
-- As that of every outbox, of one webhook.
SELECT
  count(*) FILTER (WHERE o.status = 'PENDING') AS pending,
  count(*) FILTER (WHERE o.status = 'FAILED') AS failed,
  min(o.created_at) AS oldest,
  (SELECT count(*) FROM webhook_outbox AS o WHERE o.webhook = '<webhook>' AND o.status = 'GIVEN_UP') AS given_up
FROM webhook_outbox AS o
WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED');

-- name: read_events
-- Events that are leased ($1), lane by lane in their order, without those behind another one that is still to be told.
SELECT
  o.outbox_id, o.event_id, o.event, o.family, o.kind, o.item_id, o.tenant_id, o.project_id, o.agent_id, o.user_id, o.extra,
  o.lane, o.changed_at
FROM webhook_outbox AS o
WHERE o.outbox_id = ANY ($1::uuid[]) AND o.status IN ('PENDING', 'FAILED')
  AND NOT EXISTS (
    SELECT FROM webhook_outbox AS e
    WHERE e.webhook = o.webhook AND e.lane = o.lane AND e.status IN ('PENDING', 'FAILED') AND e.seq < o.seq
      AND e.outbox_id <> ALL ($1::uuid[]))
ORDER BY o.lane, o.seq;
