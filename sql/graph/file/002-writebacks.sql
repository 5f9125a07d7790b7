-- What was written back by orchestrators: the line that tells of it in memory_audit is what makes a repeat harmless.

CREATE UNIQUE INDEX writebacks
  ON memory_audit (
    tenant_id, orchestrator_id, json_extract(detail, '$.series'), json_extract(detail, '$.attempt') DESC
  )
  WHERE event = 'memory.writeback';
