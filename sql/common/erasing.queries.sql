-- Erasing a tenant, or one of its users or agents: see 008-erasing.sql.

-- name: keep_writers_out
-- Waits for those who write what an owner has, and keeps others from it until the transaction ends.
SELECT pg_advisory_xact_lock(owner_lock($1, $2, $3));

-- name: tell_owner_erased
-- Tells that an owner was erased by now, and forgets those that were erased long ago.
WITH old AS (
  DELETE FROM erased_owners AS e WHERE e.owner = ANY (ARRAY(
    SELECT o.owner FROM erased_owners AS o
    WHERE o.erased_at < now() - interval '1 day' AND o.owner <> owner_lock($1, $2, $3) FOR UPDATE SKIP LOCKED))
)
INSERT INTO erased_owners (owner, erased_at) VALUES (owner_lock($1, $2, $3), now())
ON CONFLICT (owner) DO UPDATE SET erased_at = excluded.erased_at;
