-- name: missing
-- Which of these tables and indexes are not there.
SELECT name FROM unnest($1::text[]) AS name WHERE to_regclass(name) IS NULL ORDER BY name;

-- name: probe
-- Write a row that no page has room for beside another.
INSERT INTO write_probes (filler) VALUES (repeat('x', 5000));

-- name: forget_probes
-- Delete what was written here, by other processes, too.
DELETE FROM write_probes;

-- name: free_probes
-- Give the pages back to the disk, unless somebody is in the way: then a later one does.
VACUUM (SKIP_LOCKED) write_probes;
