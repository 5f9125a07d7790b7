-- What came of applying a rule, each time that somebody told: where, and of harm, why.
CREATE TABLE IF NOT EXISTS knowledge_rule_applications (
  id uuid PRIMARY KEY DEFAULT gen_random_uuid(),
  tenant_id text NOT NULL,
  rule_id uuid NOT NULL,
  outcome text NOT NULL CONSTRAINT knowledge_rule_applications_outcome_known CHECK (outcome IN ('helpful', 'harmful')),
  context text NULL,
  reason text NULL,
  actor text NULL,
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT knowledge_rule_applications_rule FOREIGN KEY (tenant_id, rule_id)
    REFERENCES knowledge_rules (tenant_id, id) ON DELETE CASCADE
);

CREATE INDEX IF NOT EXISTS idx_knowledge_rule_applications_rule
  ON knowledge_rule_applications (tenant_id, rule_id, created_at DESC, id);
