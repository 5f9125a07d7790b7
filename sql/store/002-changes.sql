-- Tells what becomes of values: each has a new revision when it is written.

CREATE OR REPLACE FUNCTION tell_value_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  item store_items := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
BEGIN
  PERFORM tell_change(
    CASE TG_OP WHEN 'INSERT' THEN 'written' WHEN 'UPDATE' THEN 'changed' ELSE 'forgotten' END,
    'store', 'value', item.item_id::text, item.tenant_id, owner => item.user_id,
    more => jsonb_build_object('namespace', item.namespace, 'key', item.key));
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER store_items_told
AFTER INSERT OR DELETE ON store_items
FOR EACH ROW EXECUTE FUNCTION tell_value_change();

CREATE OR REPLACE TRIGGER store_items_change_told
AFTER UPDATE OF revision ON store_items
FOR EACH ROW WHEN (OLD.revision <> NEW.revision)
EXECUTE FUNCTION tell_value_change();
