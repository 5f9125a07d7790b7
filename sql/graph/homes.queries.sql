-- Where the memory of each orchestrator is.

-- name: home_of
-- Reads where the memory of an orchestrator is, and whether its file was made.
SELECT home, folder, made_at IS NOT NULL AS is_made FROM graph_homes h WHERE h.tenant_id = $1 AND h.orchestrator_id = $2;

-- name: lock_homes
-- Lets one after the other take homes for orchestrators of a tenant, so that they can be counted.
SELECT pg_advisory_xact_lock(hashtextextended('graph_homes ' || $1, 0));

-- name: count_homes
-- Counts the orchestrators of a tenant that have a home.
SELECT count(*) FROM graph_homes h WHERE h.tenant_id = $1;

-- name: take_home
-- Says where the memory of an orchestrator is, unless that is said already.
INSERT INTO graph_homes (tenant_id, orchestrator_id, home, folder, created_at) VALUES ($1, $2, $3, $4, $5)
ON CONFLICT (tenant_id, orchestrator_id) DO NOTHING;

-- name: take_over
-- Says that the memory of an orchestrator is at another home from now on.
UPDATE graph_homes h SET home = $3, folder = $4, lost_at = NULL
WHERE h.tenant_id = $1 AND h.orchestrator_id = $2 AND h.home = $5;

-- name: note_made
-- Says that the file of a memory is there, and in which folder.
UPDATE graph_homes h SET folder = $3, made_at = coalesce(h.made_at, $4), lost_at = NULL
WHERE h.tenant_id = $1 AND h.orchestrator_id = $2
  AND (h.made_at IS NULL OR h.lost_at IS NOT NULL OR h.folder <> $3);

-- name: give_up
-- Says that the file of a memory is to be made again.
UPDATE graph_homes h SET made_at = NULL, lost_at = NULL WHERE h.tenant_id = $1 AND h.orchestrator_id = $2;

-- name: note_lost
-- Says since when the files of memories are missed, where that is not said already; returns of which it was not.
UPDATE graph_homes h SET lost_at = $3 FROM unnest($1::text[], $2::text[]) AS k (tenant_id, orchestrator_id)
WHERE h.tenant_id = k.tenant_id AND h.orchestrator_id = k.orchestrator_id AND h.lost_at IS NULL
RETURNING h.tenant_id, h.orchestrator_id;

-- name: note_found
-- Says that the files of memories are missed no longer.
UPDATE graph_homes h SET lost_at = NULL FROM unnest($1::text[], $2::text[]) AS k (tenant_id, orchestrator_id)
WHERE h.tenant_id = k.tenant_id AND h.orchestrator_id = k.orchestrator_id;

-- name: homes_of_host
-- Lists the memories at a home, and those at homes that were named after the same host.
SELECT h.tenant_id, h.orchestrator_id, h.home, h.folder, h.created_at, h.made_at IS NOT NULL AS is_made, h.lost_at
FROM graph_homes h WHERE h.home = $1 OR starts_with(h.home, $2) ORDER BY h.tenant_id, h.orchestrator_id;

-- name: homes_at
-- Lists the orchestrators whose memory is at a home.
SELECT tenant_id, orchestrator_id FROM graph_homes WHERE home = $1 ORDER BY tenant_id, orchestrator_id;

-- name: folders_at
-- Lists where the memories at a home are.
SELECT folder FROM graph_homes WHERE home = $1 ORDER BY folder;

-- name: homes_of_tenant
-- Lists the orchestrators of a tenant whose memory is at a home, or the one that is asked for.
SELECT orchestrator_id FROM graph_homes h
WHERE h.tenant_id = $1 AND h.home = $2 AND ($3::text IS NULL OR h.orchestrator_id = $3)
ORDER BY orchestrator_id;

-- name: count_homes_elsewhere
-- Counts the orchestrators of a tenant whose memory is at another home, or the one that is asked for.
SELECT count(*) FROM graph_homes h
WHERE h.tenant_id = $1 AND h.home <> $2 AND ($3::text IS NULL OR h.orchestrator_id = $3);

-- name: page_of_homes
-- Lists where memories are, of one tenant or of all, behind one of them, in the order of their names.
SELECT h.tenant_id, h.orchestrator_id, h.home, h.folder, h.created_at, h.made_at IS NOT NULL AS is_made, h.lost_at
FROM graph_homes h
WHERE ($1::text IS NULL OR h.tenant_id = $1) AND (h.tenant_id, h.orchestrator_id) > ($2, $3)
ORDER BY h.tenant_id, h.orchestrator_id LIMIT $4;

-- name: hold_owners_of_changes
-- Holds the locks of the owners of changes ($3: a JSON list of users and conversations) until the transaction ends; tells of
-- each whether none of its owners is being erased.
SELECT array_agg(
  hold_owners_of_change(
    $1, $2, ARRAY(SELECT jsonb_array_elements_text(c.owners -> 'users')),
    ARRAY(SELECT jsonb_array_elements_text(c.owners -> 'conversations')))
  ORDER BY c.place)
FROM jsonb_array_elements($3::jsonb) WITH ORDINALITY AS c (owners, place);

-- name: folders_of_tenant
-- Lists the orchestrators of a tenant whose memory is at a home, or the one that is asked for, with where it is.
SELECT orchestrator_id, folder FROM graph_homes h
WHERE h.tenant_id = $1 AND h.home = $2 AND ($3::text IS NULL OR h.orchestrator_id = $3)
ORDER BY orchestrator_id;

-- name: forget_home
-- Forgets where the memory of an orchestrator was, and what was told of it.
WITH told AS (
  DELETE FROM graph_changes_told c WHERE c.tenant_id = $1 AND c.orchestrator_id = $2
)
DELETE FROM graph_homes h WHERE h.tenant_id = $1 AND h.orchestrator_id = $2;
