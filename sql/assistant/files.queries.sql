-- Text files of a user: $1 and $2 are tenant and user in each, and $3 is a path, unless it is said otherwise. What is
-- below a path is between it with / behind it and with the character that follows / behind it, and behind the path itself.

-- name: lock_files
-- Keeps others from adding, moving and deleting files of the user until the transaction ends.
SELECT pg_advisory_xact_lock(hashtextextended(concat_ws(E'\x1f', 'files', $1::text, $2::text), 0));

-- name: get_file
-- Reads the file at a path.
SELECT f.path, f.file_id, f.version, f.text, f.size_bytes, f.created_at, f.updated_at FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3;

-- name: lock_file
-- Reads the file at a path, and keeps others from changing it until the transaction ends.
SELECT f.path, f.file_id, f.version, f.text, f.size_bytes, f.created_at, f.updated_at FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3 FOR UPDATE;

-- name: look_into_folder
-- What is below a folder, two levels deep, by the names on the way: what is deeper is counted as its folder.
SELECT b.names, b.is_folder, sum(b.size_bytes)::bigint AS size_bytes FROM (
  SELECT (p.parts)[1:2] AS names, cardinality(p.parts) > 2 AS is_folder, p.size_bytes FROM (
    SELECT string_to_array(substr(f.path, char_length($3) + 2), '/') AS parts, f.size_bytes FROM assistant_files AS f
    WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path > $3::text || '/' AND f.path < $3::text || '0'
  ) AS p
) AS b
GROUP BY b.names, b.is_folder;

-- name: what_stands_at
-- Whether there is a file at a path, and whether a folder.
SELECT
  EXISTS (SELECT FROM assistant_files AS f WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3) AS is_file,
  EXISTS (
    SELECT FROM assistant_files AS f
    WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path > $3::text || '/' AND f.path < $3::text || '0') AS is_folder;

-- name: file_among
-- The first of these paths ($3) at which there is a file.
SELECT f.path FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = ANY ($3::text[]) ORDER BY f.path LIMIT 1;

-- name: count_files
-- How many files the user has.
SELECT count(*) FROM assistant_files AS f WHERE f.tenant_id = $1 AND f.user_id = $2;

-- name: insert_file
-- Adds a file with its first text, unless there is one at the path or of the id.
INSERT INTO assistant_files (
  tenant_id, user_id, path, file_id, version, text, size_bytes, created_at, updated_at
) VALUES ($1, $2, $3, $4, $5, $6, octet_length($6::text), $7, $8)
ON CONFLICT DO NOTHING
RETURNING version;

-- name: update_file
-- Has a file that is locked say something else ($4) from a moment ($5) on, and keeps what it said before as one of at most
-- $6 older versions.
WITH before AS (
  SELECT f.file_id, f.version, f.text, f.size_bytes, f.updated_at FROM assistant_files AS f
  WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3
), kept AS (
  INSERT INTO assistant_file_versions (tenant_id, user_id, file_id, version, text, size_bytes, written_at)
  SELECT $1, $2, b.file_id, b.version, b.text, b.size_bytes, b.updated_at FROM before AS b WHERE $6::int > 0
), dropped AS (
  DELETE FROM assistant_file_versions AS v USING before AS b
  WHERE v.tenant_id = $1 AND v.user_id = $2 AND v.file_id = b.file_id AND v.version <= b.version - $6::int
)
UPDATE assistant_files AS f SET text = $4, size_bytes = octet_length($4::text), version = f.version + 1, updated_at = $5
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3
RETURNING f.version, f.size_bytes;

-- name: delete_files
-- Removes the file at a path, or all files below it, with all that they ever said; tells how many.
WITH gone AS (
  DELETE FROM assistant_files AS f
  WHERE f.tenant_id = $1 AND f.user_id = $2
    AND f.path >= $3 AND f.path < $3::text || '0' AND (f.path = $3 OR f.path > $3::text || '/')
  RETURNING f.file_id
), versions AS (
  DELETE FROM assistant_file_versions AS v USING gone AS g
  WHERE v.tenant_id = $1 AND v.user_id = $2 AND v.file_id = g.file_id
)
SELECT count(*) FROM gone;

-- name: measure_files
-- How many files are at a path or below it, and how many bytes the longest path has.
SELECT count(*) AS files, max(octet_length(f.path)) AS longest FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2
  AND f.path >= $3 AND f.path < $3::text || '0' AND (f.path = $3 OR f.path > $3::text || '/');

-- name: move_files
-- Has the file at a path, or all files below it, be at another path ($4), or below that.
UPDATE assistant_files AS f SET path = $4::text || substr(f.path, char_length($3) + 1)
WHERE f.tenant_id = $1 AND f.user_id = $2
  AND f.path >= $3 AND f.path < $3::text || '0' AND (f.path = $3 OR f.path > $3::text || '/');

-- name: list_files
-- A page of the files at a path or below it, behind a path ($4).
SELECT f.path, f.version, f.size_bytes, f.created_at, f.updated_at FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path > $4
  AND f.path >= $3 AND f.path < $3::text || '0' AND (f.path = $3 OR f.path > $3::text || '/')
ORDER BY f.path LIMIT $5;

-- name: get_file_version
-- Reads what the file at a path said in an older version ($4).
SELECT v.version, v.text, v.size_bytes, v.written_at FROM assistant_files AS f
JOIN assistant_file_versions AS v ON v.tenant_id = f.tenant_id AND v.user_id = f.user_id AND v.file_id = f.file_id
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3 AND v.version = $4;

-- name: list_file_versions
-- The versions of the file at a path that can be read, newest first.
SELECT f.version, f.size_bytes, f.updated_at AS written_at FROM assistant_files AS f
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3
UNION ALL
SELECT v.version, v.size_bytes, v.written_at FROM assistant_files AS f
JOIN assistant_file_versions AS v ON v.tenant_id = f.tenant_id AND v.user_id = f.user_id AND v.file_id = f.file_id
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.path = $3
ORDER BY version DESC;

-- name: search_files
-- The files at a path or below it that hold some of these words ($4): those with most of them first, then by how often
-- they hold them.
WITH asked AS MATERIALIZED (
  SELECT array_agg(q.query) AS each_word, string_agg(q.query::text, ' | ')::tsquery AS any_word
  FROM unnest($4::text[]) AS t (word) CROSS JOIN LATERAL plainto_tsquery('simple', t.word) AS q (query)
  WHERE numnode(q.query) > 0
)
SELECT f.path, f.version, f.text, f.size_bytes, f.updated_at, s.words
FROM assistant_files AS f CROSS JOIN asked AS a
CROSS JOIN LATERAL (SELECT count(*) AS words FROM unnest(a.each_word) AS e (query) WHERE f.words @@ e.query) AS s
WHERE f.tenant_id = $1 AND f.user_id = $2 AND f.words @@ a.any_word
  AND f.path >= $3 AND f.path < $3::text || '0' AND (f.path = $3 OR f.path > $3::text || '/')
ORDER BY s.words DESC, ts_rank(f.words, a.any_word) DESC, f.path LIMIT $5;
