-- Who is told, what is waiting for them, and what they never took.

-- name: keep_webhook
-- Has a webhook told from now on, or of something else than so far.
INSERT INTO webhooks AS w (name, families, events, tenants) VALUES ($1, $2, $3, $4)
ON CONFLICT (name) DO UPDATE SET families = excluded.families, events = excluded.events, tenants = excluded.tenants
WHERE (w.families, w.events, w.tenants) IS DISTINCT FROM (excluded.families, excluded.events, excluded.tenants);

-- name: drop_other_webhooks
-- Has all others told nothing any more, and tells who they were.
DELETE FROM webhooks AS w WHERE w.name <> ALL ($1::text[]) RETURNING w.name;

-- name: drop_unknown_events
-- Removes what nobody is left to be told of.
DELETE FROM webhook_outbox AS o USING (
  SELECT outbox_id FROM webhook_outbox AS u
  WHERE NOT EXISTS (SELECT FROM webhooks AS w WHERE w.name = u.webhook) LIMIT $1 FOR UPDATE SKIP LOCKED
) AS unknown
WHERE o.outbox_id = unknown.outbox_id
RETURNING o.outbox_id;

-- name: drop_old_dead_letters
-- Removes what was given up or discarded before $1.
DELETE FROM webhook_outbox AS o USING (
  SELECT outbox_id FROM webhook_outbox AS d
  WHERE d.status IN ('GIVEN_UP', 'DISCARDED') AND d.updated_at < $1 LIMIT $2 FOR UPDATE SKIP LOCKED
) AS old
WHERE o.outbox_id = old.outbox_id
RETURNING o.outbox_id;

-- name: list_webhooks
-- How much waits for each webhook, since when, how much it never took, and how much was dropped: of a tenant, or of all.
SELECT w.name, w.families, w.events, w.tenants,
  count(o.outbox_id) FILTER (WHERE o.status IN ('PENDING', 'FAILED')) AS waiting,
  min(o.changed_at) FILTER (WHERE o.status IN ('PENDING', 'FAILED')) AS waiting_since,
  count(o.outbox_id) FILTER (WHERE o.status = 'GIVEN_UP') AS dead_letters,
  (array_agg(o.last_error ORDER BY o.updated_at DESC) FILTER (WHERE o.last_error IS NOT NULL))[1] AS last_error,
  (SELECT coalesce(sum(d.events), 0)::bigint FROM webhook_drops AS d
   WHERE d.webhook = w.name AND ($1::text IS NULL OR d.tenant_id = $1)) AS dropped,
  (SELECT max(d.last_at) FROM webhook_drops AS d
   WHERE d.webhook = w.name AND ($1::text IS NULL OR d.tenant_id = $1)) AS last_dropped_at
FROM webhooks AS w
LEFT JOIN webhook_outbox AS o ON o.webhook = w.name AND ($1::text IS NULL OR o.tenant_id = $1)
GROUP BY w.name ORDER BY w.name;

-- name: list_events_given_up
-- A page of what a webhook never took, in its order, behind a place: of a tenant, or of all.
SELECT o.seq, o.event_id, o.event, o.family, o.kind, o.item_id, o.tenant_id, o.project_id, o.agent_id, o.user_id, o.extra,
  o.changed_at, o.attempts, o.last_error, o.updated_at AS given_up_at
FROM webhook_outbox AS o
WHERE o.webhook = $1 AND o.status = 'GIVEN_UP' AND o.seq > $2 AND ($3::text IS NULL OR o.tenant_id = $3)
ORDER BY o.seq LIMIT $4;

-- name: retry_events
-- Has what a webhook did not take told now, given up or put off, all of it or these events ($3): of a tenant, or of all.
UPDATE webhook_outbox AS o
SET status = 'PENDING', attempts = CASE o.status WHEN 'GIVEN_UP' THEN 0 ELSE o.attempts END, available_at = now(),
    updated_at = now()
WHERE o.webhook = $1 AND o.status IN ('GIVEN_UP', 'FAILED') AND ($2::text IS NULL OR o.tenant_id = $2)
  AND ($3::uuid[] IS NULL OR o.event_id = ANY ($3))
RETURNING o.outbox_id;

-- name: erase_events
-- Removes what is still to be told of a tenant, of one of its agents, or of a user, whose notes are in the project $4.
WITH told AS MATERIALIZED (
  SELECT o.outbox_id FROM webhook_outbox AS o
  WHERE o.tenant_id = $1 AND ($2::text IS NULL OR o.user_id = $2 OR o.project_id = $4)
    AND ($3::text IS NULL OR o.agent_id = $3)
  ORDER BY o.lane, o.seq
  FOR UPDATE
)
DELETE FROM webhook_outbox AS o USING told AS t WHERE o.outbox_id = t.outbox_id
RETURNING o.outbox_id;

-- name: erase_drops
-- Removes how many events of a tenant were dropped.
DELETE FROM webhook_drops AS d WHERE d.tenant_id = $1;

-- name: is_webhook
-- Tells whether there is a webhook of a name.
SELECT EXISTS (SELECT FROM webhooks AS w WHERE w.name = $1);
