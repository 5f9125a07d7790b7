-- Tells what becomes of episodes, facts and rules, and of contradictions between them. They are of their tenant.

CREATE OR REPLACE FUNCTION tell_knowledge_change(
  of_kind text, id uuid, tenant text, was_there bool, is_there bool
) RETURNS void LANGUAGE plpgsql AS $$
BEGIN
  IF was_there OR is_there THEN
    PERFORM tell_change(
      CASE WHEN NOT is_there THEN 'forgotten' WHEN was_there THEN 'changed' ELSE 'written' END,
      'knowledge', of_kind, id::text, tenant);
  END IF;
END $$;

CREATE OR REPLACE FUNCTION tell_episode_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM tell_knowledge_change('episode', OLD.id, OLD.tenant_id, OLD.expires_at IS NULL OR OLD.expires_at > now(), false);
  ELSE
    PERFORM tell_knowledge_change(
      'episode', NEW.id, NEW.tenant_id, TG_OP = 'UPDATE', NEW.expires_at IS NULL OR NEW.expires_at > now());
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER knowledge_episodes_told
AFTER INSERT OR DELETE ON knowledge_episodes
FOR EACH ROW EXECUTE FUNCTION tell_episode_change();

CREATE OR REPLACE TRIGGER knowledge_episodes_change_told
AFTER UPDATE OF content, importance, metadata, expires_at ON knowledge_episodes
FOR EACH ROW
WHEN ((OLD.content, OLD.importance, OLD.metadata, OLD.expires_at)
  IS DISTINCT FROM (NEW.content, NEW.importance, NEW.metadata, NEW.expires_at))
EXECUTE FUNCTION tell_episode_change();

CREATE OR REPLACE FUNCTION tell_fact_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM tell_knowledge_change('fact', OLD.id, OLD.tenant_id, OLD.validity = 'active', false);
  ELSE
    PERFORM tell_knowledge_change(
      'fact', NEW.id, NEW.tenant_id, TG_OP = 'UPDATE' AND OLD.validity = 'active', NEW.validity = 'active');
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER knowledge_facts_told
AFTER INSERT OR DELETE ON knowledge_facts
FOR EACH ROW EXECUTE FUNCTION tell_fact_change();

CREATE OR REPLACE TRIGGER knowledge_facts_change_told
AFTER UPDATE OF subject, predicate, content, importance, confidence, permanence, validity, scope, entity_id, tags, metadata
ON knowledge_facts
FOR EACH ROW
WHEN ((OLD.subject, OLD.predicate, OLD.content, OLD.importance, OLD.confidence, OLD.permanence, OLD.validity, OLD.scope,
    OLD.entity_id, OLD.tags, OLD.metadata)
  IS DISTINCT FROM
  (NEW.subject, NEW.predicate, NEW.content, NEW.importance, NEW.confidence, NEW.permanence, NEW.validity, NEW.scope,
    NEW.entity_id, NEW.tags, NEW.metadata))
EXECUTE FUNCTION tell_fact_change();

CREATE OR REPLACE FUNCTION tell_rule_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  was_there bool := TG_OP <> 'INSERT' AND OLD.metadata -> 'forgotten' IS DISTINCT FROM 'true';
  is_there bool := TG_OP <> 'DELETE' AND NEW.metadata -> 'forgotten' IS DISTINCT FROM 'true';
BEGIN
  IF TG_OP = 'DELETE' THEN
    PERFORM tell_knowledge_change('rule', OLD.id, OLD.tenant_id, was_there, false);
  ELSE
    PERFORM tell_knowledge_change('rule', NEW.id, NEW.tenant_id, was_there, is_there);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER knowledge_rules_told
AFTER INSERT OR DELETE ON knowledge_rules
FOR EACH ROW EXECUTE FUNCTION tell_rule_change();

CREATE OR REPLACE TRIGGER knowledge_rules_change_told
AFTER UPDATE OF content, maturity, confidence, permanence, scope, tags, metadata ON knowledge_rules
FOR EACH ROW
WHEN ((OLD.content, OLD.maturity, OLD.confidence, OLD.permanence, OLD.scope, OLD.tags, OLD.metadata)
  IS DISTINCT FROM
  (NEW.content, NEW.maturity, NEW.confidence, NEW.permanence, NEW.scope, NEW.tags, NEW.metadata))
EXECUTE FUNCTION tell_rule_change();

CREATE OR REPLACE FUNCTION tell_knowledge_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change(
    'contradicted', 'knowledge', NEW.target_type, NEW.target_id::text, NEW.tenant_id,
    more => jsonb_build_object('by', NEW.source_type || ':' || NEW.source_id));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER knowledge_contradictions_told
AFTER INSERT OR UPDATE OF relation ON knowledge_links
FOR EACH ROW WHEN (NEW.relation = 'contradicts')
EXECUTE FUNCTION tell_knowledge_contradiction();
