-- The search for words in any column, whose table and expression are filled in.

-- name: count_in_column
-- Counts the rows of a column in which a regular expression is found.
SELECT count(*) FROM <table> AS x WHERE <expression> ~ $1;

-- name: count_in_column_of_tenant
-- The same among the rows of a tenant.
SELECT count(*) FROM <table> AS x WHERE x.tenant_id = $2 AND <expression> ~ $1;

-- name: count_in_column_of_no_other
-- The same among the rows that belong to nothing of another tenant.
SELECT count(*) FROM <table> AS x WHERE <expression> ~ $1 AND coalesce(<tenant> = $2, true);
