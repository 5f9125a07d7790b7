-- Keeping answers of models: each under its kind and the hash of what it was asked with.

-- name: read_answer
-- Reads an answer whose time is not over. It writes nothing: a search waits for it.
SELECT payload::text FROM llm_cache WHERE cache_kind = $1 AND cache_key = $2 AND expires_at > $3;

-- name: commit_without_waiting
-- Lets this transaction's commit return before it is on disk: an answer lost in a crash is asked for again.
SET LOCAL synchronous_commit TO off;

-- name: keep_answers
-- Keeps answers, over those kept under the same keys. They come in the order of kind and key, so that writers that
-- meet wait for each other instead of in a circle. One that was asked for ($6, null where nobody's words are in it) before an
-- erasure ended may have words of whoever was erased, and is left out.
INSERT INTO llm_cache (cache_id, cache_kind, cache_key, payload, created_at, last_accessed_at, expires_at)
SELECT gen_random_uuid(), answer.kind, answer.key, answer.payload::jsonb, $5, $5, answer.expires_at
FROM unnest($1::text[], $2::text[], $3::text[], $4::timestamptz[], $6::timestamptz[])
  AS answer (kind, key, payload, expires_at, asked_at)
WHERE NOT EXISTS (SELECT FROM erased_owners AS e WHERE e.erased_at >= answer.asked_at)
ON CONFLICT (cache_kind, cache_key) DO UPDATE SET
  payload = excluded.payload, created_at = excluded.created_at, last_accessed_at = excluded.last_accessed_at,
  expires_at = excluded.expires_at;

-- name: count_hits
-- Adds up how often answers were used, and when last. The rows are locked in the order in which they come, which is
-- that of keep_answers: an update alone takes them in whatever order its plan joins them.
WITH used AS MATERIALIZED (
  SELECT kept.cache_kind, kept.cache_key, h.hits, h.last_at
  FROM unnest($1::text[], $2::text[], $3::bigint[], $4::timestamptz[])
    WITH ORDINALITY AS h (kind, key, hits, last_at, place)
  JOIN llm_cache AS kept ON kept.cache_kind = h.kind AND kept.cache_key = h.key
  ORDER BY h.place
  FOR NO KEY UPDATE OF kept
)
UPDATE llm_cache AS kept SET
  hit_count = kept.hit_count + used.hits,
  last_accessed_at = greatest(kept.last_accessed_at, used.last_at)
FROM used
WHERE kept.cache_kind = used.cache_kind AND kept.cache_key = used.cache_key;
