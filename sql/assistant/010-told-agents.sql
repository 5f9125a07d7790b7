-- breaks: older
-- Each agent of a thread is told of each change once: what one of them may not read does not hold up the others.

ALTER TABLE assistant_recalls ADD COLUMN IF NOT EXISTS seen_rev bigint NOT NULL DEFAULT 0;

ALTER TABLE assistant_threads DROP COLUMN IF EXISTS seen_rev;
