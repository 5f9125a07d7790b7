-- How the text files of users are taken along and taken in. A user that is null stands for all of the tenant.

-- name: export_files
-- A page of the files of a user ($2), behind a place ($3, $4).
SELECT f.user_id, f.path, f.file_id, f.version, f.text, f.created_at, f.updated_at FROM assistant_files AS f
WHERE f.tenant_id = $1 AND ($2::text IS NULL OR f.user_id = $2) AND (f.user_id, f.path) > ($3, $4)
ORDER BY f.user_id, f.path LIMIT $5;

-- name: export_file_versions
-- A page of what files of a user ($2) said before, behind a place ($3, $4, $5).
SELECT v.user_id, v.file_id, v.version, v.text, v.written_at FROM assistant_file_versions AS v
WHERE v.tenant_id = $1 AND ($2::text IS NULL OR v.user_id = $2) AND (v.user_id, v.file_id, v.version) > ($3, $4, $5)
ORDER BY v.user_id, v.file_id, v.version LIMIT $6;

-- name: restore_files
-- Keeps files ($2, a JSON list of rows) of a tenant ($1) where nothing else stands, and returns those that are new.
INSERT INTO assistant_files (tenant_id, user_id, path, file_id, version, text, size_bytes, created_at, updated_at)
SELECT $1, t.user_id, t.path, t.file_id, t.version, t.text, octet_length(t.text), t.created_at, t.updated_at
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, path text, file_id uuid, version integer, text text, created_at timestamptz, updated_at timestamptz
)
WHERE NOT EXISTS (
  SELECT FROM assistant_files AS f
  WHERE f.tenant_id = $1 AND f.user_id = t.user_id
    AND ((f.path > t.path || '/' AND f.path < t.path || '0') OR starts_with(t.path, f.path || '/')))
ON CONFLICT DO NOTHING
RETURNING file_id;

-- name: restore_file_versions
-- Keeps what files that are there said before ($2, a JSON list of rows), and returns what is new.
INSERT INTO assistant_file_versions (tenant_id, user_id, file_id, version, text, size_bytes, written_at)
SELECT $1, t.user_id, t.file_id, t.version, t.text, octet_length(t.text), t.written_at
FROM jsonb_to_recordset($2::jsonb) AS t (
  user_id text, file_id uuid, version integer, text text, written_at timestamptz
)
JOIN assistant_files AS f ON f.tenant_id = $1 AND f.user_id = t.user_id AND f.file_id = t.file_id
WHERE t.version < f.version
ON CONFLICT DO NOTHING
RETURNING version;
