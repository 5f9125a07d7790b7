-- Jobs that were given up may be discarded: an operator decides so. So may the consolidation of an episode.

ALTER TABLE knowledge_outbox DROP CONSTRAINT IF EXISTS knowledge_outbox_status_known;

ALTER TABLE knowledge_outbox ADD CONSTRAINT knowledge_outbox_status_known
  CHECK (status IN ('PENDING', 'FAILED', 'DONE', 'GIVEN_UP', 'DISCARDED'));

CREATE INDEX IF NOT EXISTS idx_knowledge_outbox_given_up ON knowledge_outbox (created_at) WHERE status IN ('GIVEN_UP', 'DISCARDED');

ALTER TABLE knowledge_episodes DROP CONSTRAINT IF EXISTS knowledge_episodes_status_known;

ALTER TABLE knowledge_episodes ADD CONSTRAINT knowledge_episodes_status_known
  CHECK (consolidation_status IN ('pending', 'consolidated', 'dead_letter', 'discarded'));

CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_discarded ON knowledge_episodes (created_at)
  WHERE consolidation_status = 'discarded';
