-- What became of memories, kept until it was told to who wants to hear of it; where nobody does, nothing is kept.

-- Whether changes are kept.
CREATE TABLE change_feed (
  feed_no INTEGER PRIMARY KEY CHECK (feed_no = 1),
  is_on INTEGER NOT NULL CHECK (is_on IN (0, 1))
) STRICT;

INSERT INTO change_feed (feed_no, is_on) VALUES (1, 0);

-- `change_id` is what no other change is called, not even in a file that was put back from a copy or made anew.
-- `by_memory_id` is the memory that contradicts. Of what is not to be told any more the place is left, and nothing else.
CREATE TABLE memory_changes (
  change_no INTEGER PRIMARY KEY AUTOINCREMENT,
  tenant_id TEXT NOT NULL,
  orchestrator_id TEXT NOT NULL,
  change_id TEXT NOT NULL DEFAULT (lower(hex(randomblob(16)))),
  event TEXT CHECK (event IN ('written', 'changed', 'forgotten', 'contradicted')),
  memory_id TEXT CHECK ((memory_id IS NULL) = (event IS NULL)),
  by_memory_id TEXT CHECK ((by_memory_id IS NOT NULL) = (event IS 'contradicted')),
  FOREIGN KEY (tenant_id, orchestrator_id) REFERENCES memory_meta
) STRICT;

CREATE TRIGGER memory_in_told AFTER INSERT ON memories
WHEN new.status = 'active' AND (SELECT is_on FROM change_feed) BEGIN
  INSERT INTO memory_changes (tenant_id, orchestrator_id, event, memory_id)
  VALUES (new.tenant_id, new.orchestrator_id, 'written', new.memory_id);
END;
-- One that is superseded or retracted is as good as forgotten: nobody is given it unless it is asked for.
CREATE TRIGGER memory_changed_told AFTER UPDATE OF status, content, summary, type, importance, confidence ON memories
WHEN (SELECT is_on FROM change_feed) AND 'active' IN (old.status, new.status)
  AND (old.status, old.content, old.summary, old.type, old.importance, old.confidence)
    IS NOT (new.status, new.content, new.summary, new.type, new.importance, new.confidence) BEGIN
  INSERT INTO memory_changes (tenant_id, orchestrator_id, event, memory_id)
  SELECT new.tenant_id, new.orchestrator_id,
         CASE WHEN new.status <> 'active' THEN 'forgotten' WHEN old.status = 'active' THEN 'changed' ELSE 'written' END,
         new.memory_id;
END;
CREATE TRIGGER memory_out_told AFTER DELETE ON memories
WHEN old.status = 'active' AND (SELECT is_on FROM change_feed) BEGIN
  INSERT INTO memory_changes (tenant_id, orchestrator_id, event, memory_id)
  VALUES (old.tenant_id, old.orchestrator_id, 'forgotten', old.memory_id);
END;
CREATE TRIGGER contradiction_told AFTER INSERT ON memory_edges
WHEN new.edge_type = 'Contradicts' AND (SELECT is_on FROM change_feed) BEGIN
  INSERT INTO memory_changes (tenant_id, orchestrator_id, event, memory_id, by_memory_id)
  VALUES (new.tenant_id, new.orchestrator_id, 'contradicted', new.to_memory_id, new.from_memory_id);
END;
