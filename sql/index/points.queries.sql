-- What the vector index in Postgres asks and writes. <space> is what tells the tables of an index space from others.

-- name: shelves_of_all
-- The part of `find` that reads the shelves of the corpus and says which of them are asked for.
SELECT s.shelf, s.place, s.fields @> $1::jsonb AND s.fields @> ANY ($2::jsonb[]) AS is_asked
FROM index_shelves<space> AS s WHERE s.fields @> $18::jsonb AND s.fields @> ANY ($19::jsonb[]);

-- name: shelves_within
-- The same when only points with one of the values $21 in the field $20 are in the corpus and asked for. Each value is
-- looked up by itself, and alone: it is an id that few shelves have, while all shelves of a tenant have the rest. So it
-- does not matter how many values there are beside these.
SELECT s.shelf, s.place, s.fields @> $1::jsonb AND s.fields @> ANY ($2::jsonb[]) AS is_asked
FROM unnest($21::text[]) AS w (value) CROSS JOIN LATERAL (
  SELECT o.shelf, o.place, o.fields FROM index_shelves<space> AS o
  WHERE o.fields @> jsonb_build_object($20::text, w.value)
  OFFSET 0
) AS s
WHERE s.fields @> $18::jsonb AND s.fields @> ANY ($19::jsonb[]);

-- name: shelves_of_all_asked_within
-- The same when points with other values are in the corpus, too.
SELECT s.shelf, s.place, s.fields @> $1::jsonb AND s.fields @> ANY ($2::jsonb[])
  AND s.fields ->> $20::text IN (SELECT w.value FROM unnest($21::text[]) AS w (value)) AS is_asked
FROM index_shelves<space> AS s WHERE s.fields @> $18::jsonb AND s.fields @> ANY ($19::jsonb[]);

-- name: find
-- Both legs of several queries that share a filter, best first, and how many points hold each word that the caller had
-- no count of ($9 null). `kind` says what a row is: dense, bm25, term (`number` is the word) or total (of all points).
-- The filter is $1 and one of $2. What is counted is counted in its corpus, $18 and one of $19, which holds all that the
-- filter does. <corpus> is one of the statements before, and says the rest.
-- The conditions are fenced, so that only one plan is left: shelves first, then points and postings by their indexes.
-- When $11 says so, only points are found whose key begins with $12, that were created from $13 on and before $14, changed
-- from $15 on and before $16 (each may be null), and that have all tags $17 or the tag of all zeros.
WITH corpus AS MATERIALIZED (
<corpus>
), shelves AS MATERIALIZED (
  SELECT c.shelf, c.place FROM corpus AS c WHERE c.is_asked
), narrowed AS MATERIALIZED (
  SELECT p.point_id FROM index_points<space> AS p
  WHERE $11::boolean AND p.shelf = ANY (ARRAY (SELECT s.shelf FROM shelves AS s)) AND (p.created_at IS NULL OR (
    ($12::text IS NULL OR starts_with(p.key, $12))
    AND (p.created_at >= $13::timestamptz) IS NOT FALSE AND (p.created_at < $14::timestamptz) IS NOT FALSE
    AND (p.changed_at >= $15::timestamptz) IS NOT FALSE AND (p.changed_at < $16::timestamptz) IS NOT FALSE
    AND (p.tags @> $17::uuid[] OR p.tags @> '{00000000-0000-0000-0000-000000000000}')))
), dense AS (
  SELECT q.number, hit.point_id, hit.owner_id, -hit.distance AS score
  FROM unnest($4::int[], $5::vector[]) AS q (number, dense)
  CROSS JOIN LATERAL (
    SELECT p.point_id, p.owner_id, p.dense <#> q.dense AS distance FROM index_points<space> AS p
    WHERE p.shelf = ANY (ARRAY (SELECT s.shelf FROM shelves AS s))
      AND (NOT $11 OR p.point_id IN (SELECT n.point_id FROM narrowed AS n))
    ORDER BY distance LIMIT $3
  ) AS hit
), counted AS MATERIALIZED (
  SELECT t.term, t.known IS NULL AS is_new, coalesce(t.known, (
    SELECT count(*) FROM index_postings<space> AS p
    WHERE p.term = t.term AND p.place = ANY (ARRAY (SELECT DISTINCT c.place FROM corpus AS c))
      AND (p.shelf IN (SELECT c.shelf FROM corpus AS c)) IS TRUE
  )) AS points
  FROM unnest($8::int[], $9::bigint[]) AS t (term, known)
), total AS MATERIALIZED (
  SELECT coalesce($10::bigint, (
    SELECT count(*) FROM index_points<space> AS p WHERE p.shelf = ANY (ARRAY (SELECT c.shelf FROM corpus AS c))
  )) AS points
  WHERE cardinality($8::int[]) > 0
), weighed AS MATERIALIZED (
  -- The idf of Robertson and Sparck Jones with 1 added inside, ln(1 + (N - n + 0.5) / (n + 0.5)), in a shorter form.
  SELECT w.number, w.term, ln((greatest(n.points, c.points) + 1) / (c.points + 0.5::float8)) AS idf
  FROM unnest($6::int[], $7::int[]) AS w (number, term) JOIN counted AS c USING (term) CROSS JOIN total AS n
), words AS (
  SELECT q.number, best.point_id, p.owner_id, best.score
  FROM (SELECT DISTINCT w.number FROM weighed AS w) AS q
  CROSS JOIN LATERAL (
    -- Rounded: the order of the summands, which may be any, must not part points that are equal.
    SELECT found.point_id, sum(w.idf * found.weight)::real AS score
    FROM weighed AS w
    CROSS JOIN LATERAL (
      SELECT p.point_id, p.weight FROM index_postings<space> AS p
      WHERE p.term = w.term AND p.place = ANY (ARRAY (SELECT DISTINCT s.place FROM shelves AS s))
        AND (p.shelf IN (SELECT s.shelf FROM shelves AS s)) IS TRUE
        AND (NOT $11 OR p.point_id IN (SELECT n.point_id FROM narrowed AS n))
      OFFSET 0
    ) AS found
    WHERE w.number = q.number
    GROUP BY found.point_id ORDER BY score DESC, found.point_id LIMIT $3
  ) AS best
  CROSS JOIN LATERAL (SELECT p.owner_id FROM index_points<space> AS p WHERE p.point_id = best.point_id OFFSET 0) AS p
)
SELECT 'dense' AS kind, number, point_id, owner_id, score FROM dense
UNION ALL SELECT 'bm25', number, point_id, owner_id, score FROM words
UNION ALL SELECT 'term', term, NULL, NULL, points FROM counted WHERE is_new
UNION ALL SELECT 'total', 0, NULL, NULL, points FROM total WHERE $10::bigint IS NULL;

-- name: put_shelves
-- Makes the shelves that are missing.
INSERT INTO index_shelves<space> (shelf, place, fields)
SELECT t.shelf, t.place, t.fields FROM unnest($1::bigint[], $2::bigint[], $3::jsonb[]) AS t (shelf, place, fields)
ORDER BY t.shelf
ON CONFLICT (shelf) DO NOTHING;

-- name: hold_shelves
-- Keeps shelves from being swept until points stand on them. Returns those that are there.
SELECT s.shelf FROM index_shelves<space> AS s WHERE s.shelf = ANY ($1::bigint[]) ORDER BY s.shelf FOR KEY SHARE;

-- name: shelves_of_points
-- The shelves on which points stand that are to stand on others ($2), or nowhere.
SELECT DISTINCT p.shelf FROM index_points<space> AS p
WHERE p.point_id = ANY ($1::uuid[]) AND p.shelf <> ALL ($2::bigint[]);

-- name: empty_shelves
-- Those of some shelves on which nothing stands.
SELECT t.shelf FROM unnest($1::bigint[]) AS t (shelf)
WHERE NOT EXISTS (SELECT FROM index_points<space> AS p WHERE p.shelf = t.shelf);

-- name: lock_shelves
-- Shelves on which nobody is about to put a point, or has put one by now.
SELECT s.shelf FROM index_shelves<space> AS s WHERE s.shelf = ANY ($1::bigint[]) ORDER BY s.shelf FOR UPDATE;

-- name: sweep_shelves
-- Removes locked shelves on which nothing stands.
DELETE FROM index_shelves<space> AS s
WHERE s.shelf = ANY ($1::bigint[]) AND NOT EXISTS (SELECT FROM index_points<space> AS p WHERE p.shelf = s.shelf);

-- name: put_points
-- Writes points, in the order of their ids, so that writers who meet wait and never lock each other out.
-- The tags of a point come joined by commas: an array of arrays would have to be rectangular.
INSERT INTO index_points<space> (point_id, owner_id, shelf, updated_at, dense, key, created_at, changed_at, tags)
SELECT t.point_id, t.owner_id, t.shelf, t.updated_at, t.dense, t.key, t.created_at, t.changed_at,
  string_to_array(t.tags, ',')::uuid[]
FROM unnest(
  $1::uuid[], $2::uuid[], $3::bigint[], $4::text[], $5::vector[], $6::text[], $7::timestamptz[], $8::timestamptz[],
  $9::text[]) AS t (point_id, owner_id, shelf, updated_at, dense, key, created_at, changed_at, tags)
ORDER BY t.point_id
ON CONFLICT (point_id) DO UPDATE SET
  owner_id = excluded.owner_id, shelf = excluded.shelf, updated_at = excluded.updated_at, dense = excluded.dense,
  key = excluded.key, created_at = excluded.created_at, changed_at = excluded.changed_at, tags = excluded.tags;

-- name: drop_postings
-- Forgets the words of points.
DELETE FROM index_postings<space> AS p WHERE p.point_id = ANY ($1::uuid[]);

-- name: put_postings
-- Writes the words of points that have none.
INSERT INTO index_postings<space> (term, place, point_id, shelf, weight)
SELECT t.* FROM unnest($1::int[], $2::bigint[], $3::uuid[], $4::bigint[], $5::real[]) AS t;

-- name: drop_points
-- Deletes points by id and returns those that were there, with their shelves.
WITH locked AS (
  SELECT p.point_id FROM index_points<space> AS p WHERE p.point_id = ANY ($1::uuid[]) ORDER BY p.point_id FOR UPDATE
)
DELETE FROM index_points<space> AS p USING locked WHERE p.point_id = locked.point_id RETURNING p.point_id, p.shelf;

-- name: drop_owners
-- Deletes the points of owners but those to keep, and returns them with their shelves.
WITH locked AS (
  SELECT p.point_id FROM index_points<space> AS p
  WHERE p.owner_id = ANY ($1::uuid[]) AND p.point_id <> ALL ($2::uuid[]) ORDER BY p.point_id FOR UPDATE
)
DELETE FROM index_points<space> AS p USING locked WHERE p.point_id = locked.point_id RETURNING p.point_id, p.shelf;

-- name: scan_points
-- A page of all points in the order of their ids, from the first ($1 null) or behind an id. Those that have to be written
-- anew are without their updated_at.
SELECT p.point_id, p.owner_id, CASE WHEN p.created_at IS NULL THEN '' ELSE p.updated_at END AS updated_at FROM index_points<space> AS p
WHERE p.point_id > coalesce($1::uuid, '00000000-0000-0000-0000-000000000000') ORDER BY p.point_id LIMIT $2;

-- name: count_points
-- How many points there are but for those that have to be written anew.
SELECT (SELECT count(*) FROM index_points<space>) - (SELECT count(*) FROM index_points<space> WHERE created_at IS NULL);

-- name: missing_relations
-- How many of these tables and indexes are not there.
SELECT count(*) FROM unnest($1::text[]) AS t WHERE to_regclass(t) IS NULL;

-- name: has_points
-- Whether there is a point.
SELECT EXISTS (SELECT FROM index_points<space>);

-- name: dense_dimension
-- The length of the vectors that the points have room for.
SELECT a.atttypmod FROM pg_attribute AS a WHERE a.attrelid = to_regclass('index_points<space>') AND a.attname = 'dense';
