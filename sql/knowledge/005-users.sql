-- breaks: older
-- Whose memories are, which older code does not look at. `user_id` is the user from whose call or messages a memory is, null where it is nobody's. A call with
-- another user does not see it, until an admin has it `shared`. In the scope of a user, which nobody else reads, `reader` is
-- the agent whose calls without a user read a fact or rule there: the one from whose episodes it was consolidated.

ALTER TABLE knowledge_episodes
  ADD COLUMN IF NOT EXISTS user_id text NULL,
  ADD COLUMN IF NOT EXISTS shared boolean NOT NULL DEFAULT false;

ALTER TABLE knowledge_facts
  ADD COLUMN IF NOT EXISTS user_id text NULL,
  ADD COLUMN IF NOT EXISTS shared boolean NOT NULL DEFAULT false,
  ADD COLUMN IF NOT EXISTS reader text NULL;

ALTER TABLE knowledge_rules
  ADD COLUMN IF NOT EXISTS user_id text NULL,
  ADD COLUMN IF NOT EXISTS shared boolean NOT NULL DEFAULT false,
  ADD COLUMN IF NOT EXISTS reader text NULL;

-- An entity is that of the user who made it, and of all who see a fact about it. Whose an event is says by whose call it
-- came, or of whose episodes.
ALTER TABLE knowledge_entities ADD COLUMN IF NOT EXISTS user_id text NULL;

ALTER TABLE knowledge_events ADD COLUMN IF NOT EXISTS user_id text NULL;

UPDATE knowledge_episodes
SET user_id = coalesce(substring(butler FROM '^user:(.+)$'), metadata ->> 'user_id', metadata ->> 'user')
WHERE user_id IS NULL AND (butler LIKE 'user:%' OR metadata ?| ARRAY['user_id', 'user']);

UPDATE knowledge_facts
SET user_id = coalesce(substring(scope FROM '^user:(.+)$'), metadata ->> 'user_id', metadata ->> 'user')
WHERE user_id IS NULL AND (scope LIKE 'user:%' OR metadata ?| ARRAY['user_id', 'user']);

UPDATE knowledge_rules
SET user_id = coalesce(substring(scope FROM '^user:(.+)$'), metadata ->> 'user_id', metadata ->> 'user')
WHERE user_id IS NULL AND (scope LIKE 'user:%' OR metadata ?| ARRAY['user_id', 'user']);

-- Whether a caller sees a memory of some place, which is the scope of a fact or rule and the agent of an episode. `reach` is
-- the caller's own scope, the user whom the call is for, and the agent that it is bound to; the latter two may be null.
CREATE OR REPLACE FUNCTION knowledge_reaches(reach text[], place text, reader text, user_id text, shared boolean)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT (place NOT LIKE 'user:%' OR place = reach[1] OR coalesce(reader = coalesce(reach[3], reader), false))
    AND (reach[2] IS NULL OR shared OR user_id IS NULL OR user_id = reach[2])
$$;

-- Whether a fact or rule is among those of a scope: it is there, global, or a user's that the agent of this name reads.
CREATE OR REPLACE FUNCTION knowledge_is_of(place text, reader text, scope text)
RETURNS boolean LANGUAGE sql IMMUTABLE PARALLEL SAFE AS $$
  SELECT place IN ('global', scope) OR coalesce(reader = scope, false)
$$;

-- What is one of a kind is so for each user.
DROP INDEX IF EXISTS idx_knowledge_facts_entity_key;

CREATE UNIQUE INDEX idx_knowledge_facts_entity_key
  ON knowledge_facts (tenant_id, entity_id, scope, predicate, coalesce(user_id, ''))
  WHERE entity_id IS NOT NULL AND validity = 'active';

DROP INDEX IF EXISTS idx_knowledge_facts_subject_key;

CREATE UNIQUE INDEX idx_knowledge_facts_subject_key
  ON knowledge_facts (tenant_id, scope, subject, predicate, coalesce(user_id, ''))
  WHERE entity_id IS NULL AND validity = 'active';

DROP INDEX IF EXISTS idx_knowledge_episodes_idempotency;

CREATE UNIQUE INDEX idx_knowledge_episodes_idempotency
  ON knowledge_episodes (tenant_id, idempotency_key, coalesce(user_id, '')) WHERE idempotency_key IS NOT NULL;

DROP INDEX IF EXISTS idx_knowledge_facts_idempotency;

CREATE UNIQUE INDEX idx_knowledge_facts_idempotency
  ON knowledge_facts (tenant_id, idempotency_key, coalesce(user_id, '')) WHERE idempotency_key IS NOT NULL;

DROP INDEX IF EXISTS idx_knowledge_rules_idempotency;

CREATE UNIQUE INDEX idx_knowledge_rules_idempotency
  ON knowledge_rules (tenant_id, idempotency_key, coalesce(user_id, '')) WHERE idempotency_key IS NOT NULL;

ALTER TABLE knowledge_entities DROP CONSTRAINT IF EXISTS knowledge_entities_named_once;

CREATE UNIQUE INDEX IF NOT EXISTS knowledge_entities_named_once
  ON knowledge_entities (tenant_id, canonical_name, entity_type, coalesce(user_id, ''));

-- What is erased and exported of a user.
CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_user ON knowledge_episodes (tenant_id, user_id) WHERE user_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_facts_user ON knowledge_facts (tenant_id, user_id) WHERE user_id IS NOT NULL;

CREATE INDEX IF NOT EXISTS idx_knowledge_rules_user ON knowledge_rules (tenant_id, user_id) WHERE user_id IS NOT NULL;

-- The episodes of an agent are consolidated user by user.
CREATE INDEX IF NOT EXISTS idx_knowledge_episodes_waiting
  ON knowledge_episodes (tenant_id, butler, coalesce(user_id, ''), created_at, id) WHERE consolidation_status = 'pending';
