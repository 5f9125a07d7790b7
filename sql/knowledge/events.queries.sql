-- What became of memories and entities.

-- name: record_events
-- Adds events, in their order.
INSERT INTO knowledge_events (event_type, actor, tenant_id, memory_type, memory_id, request_id, payload, created_at)
SELECT e.event_type, $2, $1, e.memory_type, e.memory_id, $3, e.payload, $4
FROM unnest($5::text[], $6::text[], $7::uuid[], $8::jsonb[])
  WITH ORDINALITY AS e (event_type, memory_type, memory_id, payload, place)
ORDER BY e.place;
