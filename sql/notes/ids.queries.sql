-- Ids between $1 and $2 that the agent ($3, $4, $5) may read, each with what it stands for; at most $6. A private note is
-- its own agent's, with all its versions and results; a search is its searcher's. Unless $7 is null, only what is of these
-- scopes, and searches of no other.

-- name: notes_by_id_range
-- Notes of any status.
SELECT n.note_id AS id, n.text
FROM memory_notes AS n
WHERE n.note_id BETWEEN $1 AND $2 AND n.tenant_id = $3 AND n.project_id = $4
  AND (n.scope <> 'agent_private' OR n.agent_id = $5) AND ($7::text[] IS NULL OR n.scope = ANY ($7))
ORDER BY n.note_id
LIMIT $6;

-- name: versions_by_id_range
-- Versions of notes that were not purged, with what the note was then.
SELECT v.version_id AS id, coalesce(v.new_snapshot, v.prev_snapshot) ->> 'text' AS text
FROM memory_note_versions AS v
JOIN memory_notes AS n ON n.note_id = v.note_id
WHERE v.version_id BETWEEN $1 AND $2 AND n.tenant_id = $3 AND n.project_id = $4
  AND (n.scope <> 'agent_private' OR n.agent_id = $5) AND ($7::text[] IS NULL OR n.scope = ANY ($7))
ORDER BY v.version_id
LIMIT $6;

-- name: traces_by_id_range
-- Traces that are kept at $8.
SELECT t.trace_id AS id, t.query AS text
FROM search_traces AS t
WHERE t.trace_id BETWEEN $1 AND $2 AND t.tenant_id = $3 AND t.project_id = $4 AND t.agent_id = $5
  AND t.expires_at > $8 AND ($7::text[] IS NULL OR t.allowed_scopes <@ to_jsonb($7))
ORDER BY t.trace_id
LIMIT $6;

-- name: results_by_id_range
-- Results of traces that are kept at $8. They are looked up by their ids before their traces and notes are.
SELECT i.item_id AS id, coalesce(n.text, '') AS text
FROM (
  SELECT r.item_id, r.trace_id, r.note_id FROM search_trace_items AS r WHERE r.item_id BETWEEN $1 AND $2 OFFSET 0
) AS i
JOIN search_traces AS t ON t.trace_id = i.trace_id
LEFT JOIN memory_notes AS n ON n.note_id = i.note_id
WHERE t.tenant_id = $3 AND t.project_id = $4 AND t.agent_id = $5 AND t.expires_at > $8
  AND ($7::text[] IS NULL OR t.allowed_scopes <@ to_jsonb($7))
ORDER BY i.item_id
LIMIT $6;
