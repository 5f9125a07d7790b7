-- Tells what becomes of conversations, and of what is said in them, to whoever owns them. What an agent keeps there for
-- itself is not told. A conversation that is deleted is forgotten with all that was said in it.

CREATE OR REPLACE FUNCTION tell_conversation_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change(
    CASE TG_OP WHEN 'INSERT' THEN 'written' ELSE 'changed' END,
    'conversations', 'conversation', NEW.conversation_id::text, NEW.tenant_id, owner => t.owner_user_id)
  FROM conversation_trees AS t
  WHERE t.tenant_id = NEW.tenant_id AND t.tree_id = NEW.tree_id AND t.deleted_at IS NULL;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER conversations_told
AFTER INSERT ON conversations
FOR EACH ROW EXECUTE FUNCTION tell_conversation_change();

CREATE OR REPLACE TRIGGER conversations_change_told
AFTER UPDATE OF title, metadata ON conversations
FOR EACH ROW WHEN ((OLD.title, OLD.metadata) IS DISTINCT FROM (NEW.title, NEW.metadata))
EXECUTE FUNCTION tell_conversation_change();

CREATE OR REPLACE FUNCTION tell_entry_written() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change(
    'written', 'conversations', 'entry', NEW.entry_id::text, NEW.tenant_id, owner => t.owner_user_id,
    more => jsonb_build_object('conversation_id', NEW.conversation_id))
  FROM conversation_trees AS t
  WHERE t.tenant_id = NEW.tenant_id AND t.tree_id = NEW.tree_id AND t.deleted_at IS NULL;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER conversation_entries_told
AFTER INSERT ON conversation_entries
FOR EACH ROW WHEN (NEW.channel = 'history')
EXECUTE FUNCTION tell_entry_written();

CREATE OR REPLACE FUNCTION tell_tree_change() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  PERFORM tell_change(
    CASE WHEN NEW.deleted_at IS NULL THEN 'written' ELSE 'forgotten' END,
    'conversations', 'conversation', c.conversation_id::text, c.tenant_id, owner => NEW.owner_user_id)
  FROM conversations AS c
  WHERE c.tenant_id = NEW.tenant_id AND c.tree_id = NEW.tree_id
  ORDER BY c.created_at, c.conversation_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER conversation_trees_told
AFTER UPDATE OF deleted_at ON conversation_trees
FOR EACH ROW WHEN ((OLD.deleted_at IS NULL) <> (NEW.deleted_at IS NULL))
EXECUTE FUNCTION tell_tree_change();
