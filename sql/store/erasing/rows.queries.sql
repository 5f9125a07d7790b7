-- How the rows of one table are erased; <table> is each of those in elf/families/store/subjects.py.

-- name: erase_rows
-- Removes up to $3 rows of a user ($2) of a tenant, or of all its users where that is null.
DELETE FROM <table> AS t WHERE t.ctid = ANY (ARRAY(
  SELECT o.ctid FROM <table> AS o WHERE o.tenant_id = $1 AND ($2::text IS NULL OR o.user_id = $2) LIMIT $3))
RETURNING 1;
