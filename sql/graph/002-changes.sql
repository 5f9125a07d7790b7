-- Up to which of the changes that its file keeps all were told of a memory. The file removes them afterwards; whatever comes in
-- between, none is told twice.
CREATE TABLE IF NOT EXISTS graph_changes_told (
  tenant_id text NOT NULL,
  orchestrator_id text NOT NULL,
  last_id text NOT NULL,
  PRIMARY KEY (tenant_id, orchestrator_id)
);
