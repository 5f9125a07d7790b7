-- Token vectors of chunks: <tokens> is the table that holds them, <chunks> that of the chunks.

-- name: read_tokens
-- The token vectors of chunks ($1) of one version.
SELECT k.chunk_id, k.digest, k.tokens, k.vectors FROM <tokens> AS k
WHERE k.chunk_id = ANY ($1::uuid[]) AND k.version = $2;

-- name: write_tokens
-- Keeps token vectors of those chunks that are still there, over what is kept of another text or by another version.
INSERT INTO <tokens> AS k (chunk_id, version, digest, tokens, vectors)
SELECT t.chunk_id, $2, t.digest, t.tokens, t.vectors
FROM unnest($1::uuid[], $3::bytea[], $4::int[], $5::bytea[]) AS t (chunk_id, digest, tokens, vectors)
JOIN (
  SELECT c.chunk_id FROM <chunks> AS c WHERE c.chunk_id = ANY ($1::uuid[]) ORDER BY c.chunk_id FOR KEY SHARE
) AS c ON c.chunk_id = t.chunk_id
ORDER BY t.chunk_id
ON CONFLICT (chunk_id) DO UPDATE SET
  version = excluded.version, digest = excluded.digest, tokens = excluded.tokens, vectors = excluded.vectors
WHERE (k.version, k.digest) <> (excluded.version, excluded.digest);
