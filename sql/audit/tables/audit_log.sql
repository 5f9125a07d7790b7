-- One row for each audited call. A call that changes or exports something has its row before it begins (`outcome` is begun) and
-- gets the outcome when it ends: of a process that was killed meanwhile, `begun` remains. `caller_role` is 0 for user, 1 for
-- indexer, 2 for auditor and 3 for admin. `subject` has the ids that the request names, by the name of the field: a string
-- or a list of strings. `items` counts what is in the answer, or what was changed. No column holds text of a memory or a key.
CREATE TABLE IF NOT EXISTS audit_log (
  call_id uuid PRIMARY KEY,
  called_at timestamptz NOT NULL,
  ended_at timestamptz NULL,
  request_id uuid NOT NULL,
  operation text NOT NULL,
  caller_user text NULL,
  caller_client text NULL,
  caller_role smallint NULL CONSTRAINT audit_log_role_known CHECK (caller_role BETWEEN 0 AND 3),
  tenant_id text NULL,
  subject jsonb NOT NULL,
  outcome text NOT NULL,
  status smallint NULL,
  items bigint NULL
) WITH (fillfactor = 90);

-- The listing, newest first, and what is older than its retention.
CREATE INDEX IF NOT EXISTS idx_audit_log_called ON audit_log (called_at DESC, call_id DESC);

-- The listing of a tenant.
CREATE INDEX IF NOT EXISTS idx_audit_log_tenant ON audit_log (tenant_id, called_at DESC, call_id DESC);

-- Who was named as a caller, and who or what as a subject: for the listing, and for erasing.
CREATE INDEX IF NOT EXISTS idx_audit_log_user ON audit_log (caller_user) WHERE caller_user IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_audit_log_client ON audit_log (caller_client) WHERE caller_client IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_audit_log_subject ON audit_log USING gin (jsonb_path_query_array(subject, '$.*[*]'));

-- The keyed hashes that stand in the log for users, agents and tenants who were erased: calls about them that come later say
-- the hash as well.
CREATE TABLE IF NOT EXISTS audit_pseudonyms (
  pseudonym text PRIMARY KEY
);
