-- What the schema steps need to know of a database, and what they leave behind in it.

-- name: recorded_steps
-- The steps that were applied.
SELECT family, name, digest, breaks_older FROM schema_steps;

-- name: record_step
-- Remember that a step was applied; one that was applied again stays as it is recorded. The transaction may have begun
-- long before, for it waited its turn, so its own time would tell another order.
INSERT INTO schema_steps (family, name, digest, breaks_older, applied_at) VALUES ($1, $2, $3, $4, clock_timestamp())
ON CONFLICT (family, name) DO NOTHING;

-- name: other_dimensions
-- The columns of these tables with vectors of another length than $2.
SELECT a.attrelid::regclass::text AS table_name, a.attname AS column_name, a.atttypmod AS dim
FROM pg_attribute AS a
WHERE a.attrelid IN (SELECT to_regclass(name) FROM unnest($1::text[]) AS name)
  AND a.atttypid = to_regtype('vector') AND a.attname = ANY ($3::text[]) AND a.atttypmod <> $2
ORDER BY 1, 2;

-- name: indexes_of_column
-- The indexes by nearness of a column with vectors.
SELECT i.indexrelid::regclass::text AS name
FROM pg_index AS i
JOIN pg_class AS c ON c.oid = i.indexrelid
JOIN pg_am AS m ON m.oid = c.relam AND m.amname IN ('hnsw', 'ivfflat')
JOIN pg_attribute AS a ON a.attrelid = i.indrelid AND a.attnum = ANY (i.indkey) AND a.attname = $2
WHERE i.indrelid = to_regclass($1);

-- name: checks_of_length
-- The constraints of a table that bind the length of its vectors ($2).
SELECT quote_ident(k.conname) AS name FROM pg_constraint AS k
WHERE k.conrelid = to_regclass($1) AND k.contype = 'c'
  AND pg_get_constraintdef(k.oid) = format('CHECK ((embedding_dim = %s))', $2::int);

-- name: take_turn
-- Wait until no other process applies steps, and keep them waiting until the transaction ends.
SELECT pg_advisory_xact_lock($1);
