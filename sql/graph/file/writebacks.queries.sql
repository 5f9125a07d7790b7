-- What was written back by orchestrators, as memory_audit tells it.

-- name: writeback
-- Reads what an attempt of a series has written.
SELECT detail
FROM memory_audit
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND event = 'memory.writeback'
  AND json_extract(detail, '$.series') = :series AND json_extract(detail, '$.attempt') = :attempt;

-- name: last_attempt
-- Reads the number of the last attempt of a series.
SELECT json_extract(detail, '$.attempt')
FROM memory_audit
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND event = 'memory.writeback'
  AND json_extract(detail, '$.series') = :series
ORDER BY json_extract(detail, '$.attempt') DESC
LIMIT 1;

-- name: delete_writeback
-- Forgets what an attempt of a series has written: it is written anew.
DELETE FROM memory_audit
WHERE tenant_id = :tenant_id AND orchestrator_id = :orchestrator_id AND event = 'memory.writeback'
  AND json_extract(detail, '$.series') = :series AND json_extract(detail, '$.attempt') = :attempt;
