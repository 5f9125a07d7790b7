-- Where else a note was said than its reference tells: the conversation, by the name that its user has for it ('' for
-- none), and the reference that a note of its own would have. A note is kept as long as it has one source. What a note
-- said before its text changed was said elsewhere: its sources go.
CREATE TABLE IF NOT EXISTS memory_note_sources (
  note_id uuid NOT NULL REFERENCES memory_notes ON DELETE CASCADE,
  thread text NOT NULL,
  source_ref jsonb NOT NULL,
  created_at timestamptz NOT NULL,
  PRIMARY KEY (note_id, thread)
);

CREATE OR REPLACE FUNCTION drop_note_sources() RETURNS trigger LANGUAGE plpgsql AS $$
BEGIN
  DELETE FROM memory_note_sources AS s WHERE s.note_id = NEW.note_id;
  RETURN NULL;
END $$;

CREATE OR REPLACE TRIGGER memory_notes_say_something_else
AFTER UPDATE OF text ON memory_notes FOR EACH ROW WHEN (OLD.text IS DISTINCT FROM NEW.text)
EXECUTE FUNCTION drop_note_sources();
