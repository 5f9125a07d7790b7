-- The graph: where the memory of each orchestrator is. The memories themselves are in files of their own.

-- `home` names the root folder, and so the host, that has the file; `folder` is where in it, or elsewhere on that host.
CREATE TABLE IF NOT EXISTS graph_homes (
  tenant_id text NOT NULL,
  orchestrator_id text NOT NULL,
  home text NOT NULL,
  folder text NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (tenant_id, orchestrator_id)
);
