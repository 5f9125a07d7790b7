-- What is done with stories.

-- name: tell_story
-- Keeps a story.
INSERT INTO stories (story_id, tenant_id, project_id, text, embedding_version) VALUES ($1, $2, $3, $4, $5);

-- name: retell_story
-- Gives a story of a project another text, or ends it where there is none; returns its text.
UPDATE stories AS s
SET text = coalesce($4, s.text), is_over = $4 IS NULL, changed_at = clock_timestamp()
WHERE s.story_id = $1 AND s.tenant_id = $2 AND s.project_id = $3 AND NOT s.is_over
RETURNING s.text;

-- name: read_stories
-- The stories behind points of the index, as they are now.
SELECT c.chunk_id, s.story_id, s.text
FROM toy_corpus_chunks AS c
JOIN stories AS s ON s.story_id = c.subject_id
WHERE c.chunk_id = ANY ($1::uuid[]) AND s.tenant_id = $2 AND s.project_id = $3 AND NOT s.is_over;

-- name: drop_stories
-- Removes stories that were over before a moment.
DELETE FROM stories WHERE story_id IN (
  SELECT story_id FROM stories WHERE is_over AND changed_at < $1 LIMIT $2
) RETURNING story_id;
