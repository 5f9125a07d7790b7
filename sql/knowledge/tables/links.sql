-- From one memory to another, with why. There is one link from one to the other. What it leads to may be gone.
CREATE TABLE IF NOT EXISTS knowledge_links (
  tenant_id text NOT NULL,
  source_type text NOT NULL,
  source_id uuid NOT NULL,
  target_type text NOT NULL,
  target_id uuid NOT NULL,
  relation text NOT NULL CONSTRAINT knowledge_links_relation_known
    CHECK (relation IN ('derived_from', 'supports', 'contradicts', 'supersedes', 'related_to')),
  created_at timestamptz NOT NULL DEFAULT now(),
  CONSTRAINT knowledge_links_once PRIMARY KEY (tenant_id, source_type, source_id, target_type, target_id),
  CONSTRAINT knowledge_links_source_known CHECK (source_type IN ('episode', 'fact', 'rule')),
  CONSTRAINT knowledge_links_target_known CHECK (target_type IN ('episode', 'fact', 'rule')),
  CONSTRAINT knowledge_links_two_ends CHECK (source_type <> target_type OR source_id <> target_id)
);

CREATE INDEX IF NOT EXISTS idx_knowledge_links_target ON knowledge_links (tenant_id, target_type, target_id);
