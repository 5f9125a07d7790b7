-- What webhooks are told of, and how far that is. <webhook> is the one whose outbox this is: a-z, 0-9 and _.

-- name: lease_jobs
-- As that of every outbox, of one webhook: of each lane whose first event is due, that one, then the second of each, up to $3. Of
-- a lane whose first event failed before, that one alone. An index over the heads gives those that are due, however much waits
-- or is put off. Of those that it gives, the ones that another one is before are heads no more: but only while that one is
-- locked here, for whoever ends it looks for its next when it has the lock.
WITH marked AS MATERIALIZED (
  SELECT o.outbox_id, o.lane, o.seq, o.available_at FROM webhook_outbox AS o
  WHERE o.webhook = '<webhook>' AND o.is_head AND o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  ORDER BY o.available_at, o.seq LIMIT 16 * $1
), heads AS MATERIALIZED (
  SELECT h.* FROM (SELECT m.lane FROM marked AS m GROUP BY m.lane ORDER BY min(m.available_at) LIMIT 2 * $1) AS l
  CROSS JOIN LATERAL (
    SELECT o.outbox_id, o.lane, o.seq, o.available_at, o.attempts FROM webhook_outbox AS o
    WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.lane = l.lane
    ORDER BY o.seq LIMIT 1
  ) AS h
), turns AS (
  SELECT h.* FROM heads AS h WHERE h.available_at <= now() ORDER BY h.available_at, h.seq LIMIT $1
), queue AS MATERIALIZED (
  SELECT n.outbox_id FROM turns AS t CROSS JOIN LATERAL (
    SELECT o.outbox_id, row_number() OVER (ORDER BY o.seq) AS place FROM webhook_outbox AS o
    WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.lane = t.lane
    ORDER BY o.seq LIMIT CASE WHEN t.attempts > 0 THEN 1 ELSE $3 END
  ) AS n
  ORDER BY n.place, t.available_at, t.seq LIMIT $1
), due AS MATERIALIZED (
  SELECT o.outbox_id FROM queue AS q JOIN webhook_outbox AS o USING (outbox_id)
  WHERE o.status IN ('PENDING', 'FAILED') AND o.available_at <= now()
  FOR UPDATE OF o SKIP LOCKED
), leased AS (
  UPDATE webhook_outbox AS o
  SET status = 'PENDING', available_at = now() + $2::interval, leases = o.leases + 1, updated_at = now()
  FROM due
  WHERE o.outbox_id = due.outbox_id
  RETURNING o.outbox_id, o.event_id AS subject_id, o.attempts, o.created_at, o.leases AS lease, o.seq
), behind AS (
  SELECT m.outbox_id, h.outbox_id AS head_id FROM marked AS m JOIN heads AS h USING (lane)
  WHERE m.seq > h.seq AND m.outbox_id NOT IN (SELECT d.outbox_id FROM due AS d)
), held AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o
  WHERE o.outbox_id IN (SELECT b.head_id FROM behind AS b EXCEPT SELECT d.outbox_id FROM due AS d)
    AND o.status IN ('PENDING', 'FAILED')
  FOR UPDATE OF o SKIP LOCKED
), no_heads AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o
  WHERE o.outbox_id IN (
    SELECT b.outbox_id FROM behind AS b
    WHERE b.head_id IN (SELECT h.outbox_id FROM held AS h UNION ALL SELECT d.outbox_id FROM due AS d))
  FOR UPDATE OF o SKIP LOCKED
), unmarked AS (
  UPDATE webhook_outbox AS o SET is_head = false FROM no_heads AS n WHERE o.outbox_id = n.outbox_id
)
SELECT outbox_id, subject_id, attempts, created_at, lease FROM leased ORDER BY seq;

-- name: finish_jobs
-- Removes what was delivered, and tells which: not those that somebody else has leased since. Whoever takes several events locks
-- them in the order of lanes, so that none waits for another one in a circle.
WITH done AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o JOIN unnest($1::uuid[], $2::int[]) AS t (outbox_id, lease) USING (outbox_id)
  WHERE o.leases = t.lease
  ORDER BY o.lane, o.seq
  FOR UPDATE OF o
)
DELETE FROM webhook_outbox AS o USING done AS d WHERE o.outbox_id = d.outbox_id
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

-- name: count_open_events
-- How many events wait for a webhook.
SELECT count(*) FROM webhook_outbox AS o WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED');

-- name: drop_oldest
-- Removes up to $2 events, the oldest first: those that were written before $1, or whenever that is null. Counts them by tenant, and
-- returns how many. What is leased is PENDING and due only when its lease ends: it is being delivered, and stays.
WITH oldest AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o
  WHERE o.webhook = '<webhook>' AND o.status IN ('PENDING', 'FAILED') AND o.created_at < coalesce($1, 'infinity'::timestamptz)
    AND (o.status = 'FAILED' OR o.available_at <= now())
  ORDER BY o.created_at, o.seq LIMIT $2
), chosen AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o JOIN oldest AS a USING (outbox_id)
  WHERE o.status IN ('PENDING', 'FAILED') AND (o.status = 'FAILED' OR o.available_at <= now())
  ORDER BY o.lane, o.seq
  FOR UPDATE OF o SKIP LOCKED
), dropped AS (
  DELETE FROM webhook_outbox AS o USING chosen AS c WHERE o.outbox_id = c.outbox_id RETURNING o.tenant_id
), counted AS (
  INSERT INTO webhook_drops AS w (webhook, tenant_id, events, last_at)
  SELECT '<webhook>', d.tenant_id, count(*), now() FROM dropped AS d
  WHERE EXISTS (SELECT FROM webhooks AS k WHERE k.name = '<webhook>')
  GROUP BY d.tenant_id ORDER BY d.tenant_id
  ON CONFLICT (webhook, tenant_id) DO UPDATE SET events = w.events + excluded.events, last_at = excluded.last_at
)
SELECT count(*) FROM dropped;

-- name: note_reason
-- Has operators see why an event was not taken that is not put off for it.
UPDATE webhook_outbox AS o SET last_error = $2, updated_at = now() WHERE o.outbox_id = $1;
