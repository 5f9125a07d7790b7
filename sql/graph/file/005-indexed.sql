-- Memories that are stored and not found: those of what stands in a file behind what is indexed of it. They have neither
-- words nor spans nor vectors, until they say something else.

ALTER TABLE memories ADD COLUMN is_indexed INTEGER NOT NULL DEFAULT 1 CHECK (is_indexed IN (0, 1));

DROP TRIGGER memories_in;
DROP TRIGGER memories_out;
DROP TRIGGER memories_changed;
CREATE TRIGGER memories_in AFTER INSERT ON memories WHEN new.is_indexed BEGIN
  INSERT INTO memory_fts (rowid, content, summary) VALUES (new.memory_no, new.content, new.summary);
END;
CREATE TRIGGER memories_out AFTER DELETE ON memories WHEN old.is_indexed BEGIN
  INSERT INTO memory_fts (memory_fts, rowid, content, summary)
  VALUES ('delete', old.memory_no, old.content, old.summary);
END;
CREATE TRIGGER memories_changed AFTER UPDATE OF content, summary, is_indexed ON memories
WHEN (new.content, new.summary, new.is_indexed) <> (old.content, old.summary, old.is_indexed) BEGIN
  INSERT INTO memory_fts (memory_fts, rowid, content, summary)
  SELECT 'delete', old.memory_no, old.content, old.summary WHERE old.is_indexed;
  INSERT INTO memory_fts (rowid, content, summary)
  SELECT new.memory_no, new.content, new.summary WHERE new.is_indexed;
END;

-- How many characters of a file's text are found, where that is not all.
ALTER TABLE memory_ingests ADD COLUMN indexed_chars INTEGER CHECK (indexed_chars > 0);
