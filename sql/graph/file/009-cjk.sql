-- CJK text has no spaces between its words: each of its characters is indexed as one, so that a part of a run is found.
-- `spaced_cjk` is a function of the service, which returns other text as it is.

DROP TRIGGER spans_in;
DROP TRIGGER spans_out;
CREATE TRIGGER spans_in AFTER INSERT ON memory_spans BEGIN
  INSERT INTO memory_span_fts (rowid, text) VALUES (new.span_no, spaced_cjk(new.text));
END;
CREATE TRIGGER spans_out AFTER DELETE ON memory_spans BEGIN
  INSERT INTO memory_span_fts (memory_span_fts, rowid, text) VALUES ('delete', old.span_no, spaced_cjk(old.text));
END;

INSERT INTO memory_span_fts (memory_span_fts, rowid, text)
SELECT 'delete', span_no, text FROM memory_spans WHERE spaced_cjk(text) <> text;
INSERT INTO memory_span_fts (rowid, text)
SELECT span_no, spaced_cjk(text) FROM memory_spans WHERE spaced_cjk(text) <> text;
