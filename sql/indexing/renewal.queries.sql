-- Finding what has to be made anew by another model or chunking (elf/indexing/renewal.py). The names in angle brackets are
-- told in jobs.queries.sql.

-- name: renewal_page
-- A page of all subjects in the order of their ids behind $1. is_due: live, and of a version that is not among $4, those
-- of other processes. is_whole: all of it can be found by version $3. chunking: how its chunks of that version were
-- cut, if that is known and the same for all.
WITH page AS MATERIALIZED (
  SELECT
    s.subject_id, s.embedding_version, char_length(s.text) AS length,
    s.is_active AND (s.expires_at IS NULL OR s.expires_at > $5) AND s.embedding_version <> ALL ($4::text[]) AS is_due
  FROM <view> AS s
  WHERE s.subject_id > $1
  ORDER BY s.subject_id
  LIMIT $2
)
SELECT p.subject_id, p.is_due, p.embedding_version = $3 AND coalesce(c.is_whole, false) AS is_whole, c.chunking
FROM page AS p
LEFT JOIN LATERAL (
  SELECT
    min(k.start_offset) = 0 AND max(k.end_offset) = p.length AND count(e.chunk_id) = max(k.chunk_index) + 1 AS is_whole,
    CASE WHEN count(k.chunking) = count(*) AND min(k.chunking) = max(k.chunking) THEN min(k.chunking) END AS chunking
  FROM <chunks> AS k
  LEFT JOIN LATERAL (
    SELECT v.chunk_id FROM <vectors> AS v
    WHERE v.chunk_id = k.chunk_id AND v.embedding_version = $3 OFFSET 0) AS e ON true
  WHERE k.<subject> = p.subject_id AND k.embedding_version = $3) AS c ON p.is_due
ORDER BY p.subject_id;

-- name: enqueue_renewal
-- Asks for subjects to be indexed again, and for their points that are no chunks any more to go, unless a job waits for
-- them anyway, or was given up or discarded; returns the jobs. A job that was leased as it was made does not count: it is
-- one that a rebuild ends by itself.
INSERT INTO <outbox> (outbox_id, <subject>, op, embedding_version, status)
SELECT gen_random_uuid(), t.subject_id, 'DELETE', $2, 'PENDING'
FROM unnest($1::uuid[]) AS t (subject_id)
WHERE NOT EXISTS (
  SELECT 1 FROM <outbox> AS o
  WHERE o.<subject> = t.subject_id
    AND (o.status IN ('FAILED', 'GIVEN_UP', 'DISCARDED')
      OR o.status = 'PENDING' AND (o.leases > 0 OR o.available_at <= now())) OFFSET 0)
RETURNING outbox_id;

-- name: cuts_of_subjects
-- The texts of subjects and where their chunks of version $2 begin and end.
SELECT s.subject_id, s.changed_at, s.text, c.starts, c.ends
FROM <view> AS s
CROSS JOIN LATERAL (
  SELECT array_agg(k.start_offset ORDER BY k.chunk_index) AS starts,
    array_agg(k.end_offset ORDER BY k.chunk_index) AS ends
  FROM <chunks> AS k
  WHERE k.<subject> = s.subject_id AND k.embedding_version = $2) AS c
WHERE s.subject_id = ANY ($1::uuid[]) AND c.starts IS NOT NULL;

-- name: mark_chunking
-- Writes down that the chunks of subjects are such as chunking $3 would make them, where the subject is as it was read.
UPDATE <chunks> AS c SET chunking = $3
FROM unnest($1::uuid[], $2::timestamptz[]) AS t (subject_id, changed_at)
JOIN <view> AS s ON s.subject_id = t.subject_id AND s.changed_at = t.changed_at
WHERE c.<subject> = t.subject_id;
