-- breaks: older
-- Traces are kept as the text they are told by: Postgres does not read and pack what each answer writes and few look at.

ALTER TABLE memory_traces ALTER COLUMN content TYPE text USING content::text;
ALTER TABLE memory_traces ALTER COLUMN content SET STORAGE EXTERNAL;
