-- Tells what becomes of notes. A deprecated one is as good as forgotten: nobody is given it any more.

CREATE OR REPLACE FUNCTION tell_note_change() RETURNS trigger LANGUAGE plpgsql AS $$
DECLARE
  note memory_notes := CASE WHEN TG_OP = 'DELETE' THEN OLD ELSE NEW END;
  was_there bool := TG_OP <> 'INSERT' AND OLD.status = 'active';
  is_there bool := TG_OP <> 'DELETE' AND NEW.status = 'active';
BEGIN
  IF was_there OR is_there THEN
    PERFORM tell_change(
      CASE WHEN NOT is_there THEN 'forgotten' WHEN was_there THEN 'changed' ELSE 'written' END,
      'notes', 'note', note.note_id::text, note.tenant_id, note.project_id, note.agent_id);
  END IF;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_notes_told
AFTER INSERT OR DELETE ON memory_notes
FOR EACH ROW EXECUTE FUNCTION tell_note_change();

CREATE OR REPLACE TRIGGER memory_notes_change_told
AFTER UPDATE OF text, importance, confidence, status, expires_at, source_ref ON memory_notes
FOR EACH ROW
WHEN ((OLD.text, OLD.importance, OLD.confidence, OLD.status, OLD.expires_at, OLD.source_ref)
  IS DISTINCT FROM (NEW.text, NEW.importance, NEW.confidence, NEW.status, NEW.expires_at, NEW.source_ref))
EXECUTE FUNCTION tell_note_change();
