-- How much there is over all tenants, for who runs the service.

-- name: count_memories
-- How many memories of each type are in each state.
SELECT m.type, m.state, count(*) AS memories FROM assistant_memories AS m GROUP BY m.type, m.state;

-- name: count_pending_proposals
-- How many proposals wait for a decision, and can still be decided at a moment ($1).
SELECT count(*) AS proposals FROM assistant_proposals AS p WHERE p.state = 'pending' AND p.expires_at > $1;

-- name: count_events
-- What was done since a moment ($1), by node, op and status, and how much of it because an agent was not sure.
SELECT e.node, e.op, e.status, count(*) AS events, count(*) FILTER (WHERE e.reason = 'recall') AS recalls
FROM assistant_events AS e WHERE e.ts >= $1 GROUP BY e.node, e.op, e.status;
