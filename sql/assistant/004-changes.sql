-- Tells what becomes of memories, of contradictions between them, and of files.

CREATE OR REPLACE FUNCTION tell_assistant_memory_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  memory assistant_memories := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  was_there bool := TG_OP <> 'INSERT' AND OLD.state = 'active';
  is_there bool := TG_OP <> 'DELETE' AND NEW.state = 'active';
BEGIN
  IF was_there OR is_there THEN
    PERFORM tell_change(
      CASE WHEN NOT is_there THEN 'forgotten' WHEN was_there THEN 'changed' ELSE 'written' END,
      'assistant', 'memory', memory.memory_id::text, memory.tenant_id, owner => memory.user_id);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER assistant_memories_told
AFTER INSERT OR DELETE ON assistant_memories
FOR EACH ROW EXECUTE FUNCTION tell_assistant_memory_change();

CREATE OR REPLACE TRIGGER assistant_memories_change_told
AFTER UPDATE OF text, steps_text, category, type, tags, importance, pinned, state, evidence ON assistant_memories
FOR EACH ROW
WHEN ((OLD.text, OLD.steps_text, OLD.category, OLD.type, OLD.tags, OLD.importance, OLD.pinned, OLD.state, OLD.evidence)
  IS DISTINCT FROM
  (NEW.text, NEW.steps_text, NEW.category, NEW.type, NEW.tags, NEW.importance, NEW.pinned, NEW.state, NEW.evidence))
EXECUTE FUNCTION tell_assistant_memory_change();

CREATE OR REPLACE FUNCTION tell_assistant_contradiction() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change(
    'contradicted', 'assistant', 'memory', NEW.to_id::text, NEW.tenant_id, owner => NEW.user_id,
    more => jsonb_build_object('by', NEW.from_id));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER assistant_contradictions_told
AFTER INSERT ON assistant_relations
FOR EACH ROW WHEN (NEW.relation_type = 'contradicts')
EXECUTE FUNCTION tell_assistant_contradiction();

CREATE OR REPLACE FUNCTION tell_assistant_file_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  file assistant_files := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  PERFORM tell_change(
    CASE TG_OP WHEN 'INSERT' THEN 'written' WHEN 'UPDATE' THEN 'changed' ELSE 'forgotten' END,
    'assistant', 'file', file.file_id::text, file.tenant_id, owner => file.user_id,
    more => jsonb_build_object('path', file.path));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER assistant_files_told
AFTER INSERT OR DELETE ON assistant_files
FOR EACH ROW EXECUTE FUNCTION tell_assistant_file_change();

CREATE OR REPLACE TRIGGER assistant_files_change_told
AFTER UPDATE OF text, path ON assistant_files
FOR EACH ROW WHEN (OLD.version <> NEW.version OR OLD.path <> NEW.path)
EXECUTE FUNCTION tell_assistant_file_change();
