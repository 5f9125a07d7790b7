-- What became of memories and entities.

-- name: record_events
-- Adds events, in their order.
INSERT INTO knowledge_events (
  event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at, user_id
)
SELECT e.event_type, $2, $1, e.memory_type, e.memory_id, $3, e.payload, $4, e.user_id
FROM unnest($5::text[], $6::text[], $7::uuid[], $8::jsonb[], $9::text[])
  WITH ORDINALITY AS e (event_type, memory_type, memory_id, payload, user_id, place)
ORDER BY e.place;
