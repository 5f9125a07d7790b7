-- CJK text has no spaces between its words: each of its characters is indexed as one, so that a part of a run is found.
-- `words` is what a span of such text is indexed by; other spans are by their text. The triggers call no function, so that
-- other programs can change the file; `spaced_cjk` is one of the service, which returns other text as it is.

ALTER TABLE memory_spans ADD COLUMN words TEXT;

INSERT INTO memory_span_fts (memory_span_fts, rowid, text)
SELECT 'delete', span_no, text FROM memory_spans WHERE spaced_cjk(text) <> text;
UPDATE memory_spans SET words = spaced_cjk(text) WHERE spaced_cjk(text) <> text;
INSERT INTO memory_span_fts (rowid, text) SELECT span_no, words FROM memory_spans WHERE words IS NOT NULL;

DROP TRIGGER spans_in;
DROP TRIGGER spans_out;
CREATE TRIGGER spans_in AFTER INSERT ON memory_spans BEGIN
  INSERT INTO memory_span_fts (rowid, text) VALUES (new.span_no, coalesce(new.words, new.text));
END;
CREATE TRIGGER spans_out AFTER DELETE ON memory_spans BEGIN
  INSERT INTO memory_span_fts (memory_span_fts, rowid, text)
  VALUES ('delete', old.span_no, coalesce(old.words, old.text));
END;
