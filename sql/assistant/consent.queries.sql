-- What users agreed to be known by, and what waits for their decision.

-- name: get_user_context
-- What a user is known by.
SELECT c.field, c.value, c.updated_at FROM assistant_user_context AS c
WHERE c.tenant_id = $1 AND c.user_id = $2 ORDER BY c.field;

-- name: put_user_context
-- Has a user known by something.
INSERT INTO assistant_user_context (tenant_id, user_id, field, value, updated_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, user_id, field) DO UPDATE SET value = excluded.value, updated_at = excluded.updated_at;

-- name: lock_proposal
-- Reads a proposal and keeps it.
SELECT p.proposal_id, p.field, p.value, p.state, p.thread_id, p.evidence, p.created_at, p.expires_at, p.decided_at,
  p.decided_by
FROM assistant_proposals AS p
WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.proposal_id = $3 FOR UPDATE OF p;

-- name: pending_proposal
-- The proposal of a field that waits for a decision at a moment ($4), whether its time is over or not.
SELECT p.proposal_id, p.value, p.is_implied, p.expires_at <= $4 AS is_over FROM assistant_proposals AS p
WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.field = $3 AND p.state = 'pending' FOR UPDATE OF p;

-- name: end_proposal
-- Writes what became of a proposal.
UPDATE assistant_proposals AS p SET state = $4, decided_at = $5, decided_by = $6
WHERE p.tenant_id = $1 AND p.user_id = $2 AND p.proposal_id = $3;

-- name: propose
-- Adds a proposal.
INSERT INTO assistant_proposals (
  tenant_id, user_id, proposal_id, field, value, thread_id, evidence, created_at, expires_at, is_implied
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9, $10);

-- name: list_proposals
-- A page of proposals in a state ($6, or null for all), newest first, behind a place ($3, $4); $7 is now.
SELECT p.proposal_id, p.field, p.value, p.thread_id, p.evidence, p.created_at, p.expires_at, p.decided_at, p.decided_by,
  s.state
FROM assistant_proposals AS p CROSS JOIN LATERAL (
  SELECT CASE WHEN p.state = 'pending' AND p.expires_at <= $7 THEN 'expired' ELSE p.state END AS state
) AS s
WHERE p.tenant_id = $1 AND p.user_id = $2 AND (p.created_at, p.proposal_id) < ($3, $4)
  AND ($6::text IS NULL OR s.state = $6)
ORDER BY p.created_at DESC, p.proposal_id DESC LIMIT $5;

-- name: expire_proposals
-- Ends up to $2 proposals whose time was over at $1, and keeps that in the history.
WITH due AS MATERIALIZED (
  SELECT p.tenant_id, p.user_id, p.proposal_id FROM assistant_proposals AS p
  WHERE p.state = 'pending' AND p.expires_at <= $1 ORDER BY p.expires_at LIMIT $2 FOR UPDATE SKIP LOCKED
), ended AS (
  UPDATE assistant_proposals AS p SET state = 'expired', decided_at = $1, decided_by = 'worker'
  FROM due AS d WHERE p.tenant_id = d.tenant_id AND p.user_id = d.user_id AND p.proposal_id = d.proposal_id
  RETURNING p.tenant_id, p.user_id, p.proposal_id, p.field
)
INSERT INTO assistant_history (tenant_id, user_id, memory_id, event, actor, meta, ts)
SELECT e.tenant_id, e.user_id, e.proposal_id, 'UPDATE', 'worker',
  jsonb_build_object('consent', jsonb_build_object('field', e.field, 'decision', 'expired')), $1
FROM ended AS e
RETURNING memory_id;

-- name: drop_old_proposals
-- Removes up to $2 proposals that were decided, or whose time was over, before $1.
DELETE FROM assistant_proposals AS p
USING (
  SELECT o.tenant_id, o.user_id, o.proposal_id FROM assistant_proposals AS o
  WHERE o.state <> 'pending' AND coalesce(o.decided_at, o.expires_at) < $1
  ORDER BY coalesce(o.decided_at, o.expires_at) LIMIT $2 FOR UPDATE SKIP LOCKED
) AS old
WHERE p.tenant_id = old.tenant_id AND p.user_id = old.user_id AND p.proposal_id = old.proposal_id
RETURNING p.proposal_id;

-- name: add_signal
-- Keeps what a turn says of a field.
INSERT INTO assistant_signals (
  tenant_id, user_id, field, thread_id, turn_id, value, embedding, embedding_version, created_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7, $8, $9)
ON CONFLICT DO NOTHING;

-- name: is_corroborated
-- Whether another turn than this one ($4, $5) has said the same ($6) of a field since $9: in the same words, or with a
-- vector of the same model ($8) whose cosine to this one's ($7) is at least $10.
SELECT EXISTS (
  SELECT FROM assistant_signals AS s
  WHERE s.tenant_id = $1 AND s.user_id = $2 AND s.field = $3 AND (s.thread_id, s.turn_id) <> ($4, $5)
    AND s.created_at >= $9
    AND (lower(s.value) = lower($6)
      OR (s.embedding_version = $8 AND 1 - (s.embedding <=> $7::vector) >= $10::double precision))
);
