-- Who may see a tree, and who is to own it. Whoever changes any of it holds the lock of the tree (lock_tree).

-- name: list_memberships
-- The members of a tree.
SELECT m.user_id, m.access_level, m.created_at FROM conversation_memberships AS m
WHERE m.tenant_id = $1 AND m.tree_id = $2 ORDER BY m.created_at, m.user_id;

-- name: put_membership
-- Gives a user a level in a tree.
INSERT INTO conversation_memberships AS m (tenant_id, tree_id, user_id, access_level, is_creator, created_at)
SELECT $1, $2, $3, $4, t.creator = $3, $5 FROM conversation_trees AS t WHERE t.tenant_id = $1 AND t.tree_id = $2
ON CONFLICT (tenant_id, tree_id, user_id) DO UPDATE SET access_level = $4
RETURNING m.user_id, m.access_level, m.created_at;

-- name: drop_membership
-- Takes a user's level in a tree away, and the transfer of the tree to this user. Returns how many transfers that were.
WITH transfers AS (
  DELETE FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.tree_id = $2 AND x.to_user_id = $3 RETURNING 1
), member AS (
  DELETE FROM conversation_memberships AS m WHERE m.tenant_id = $1 AND m.tree_id = $2 AND m.user_id = $3
)
SELECT count(*) FROM transfers;

-- name: insert_transfer
-- Adds a transfer, unless its tree has one.
INSERT INTO conversation_transfers (
  tenant_id, transfer_id, tree_id, conversation_id, from_user_id, to_user_id, created_at
)
VALUES ($1, $2, $3, $4, $5, $6, $7) ON CONFLICT ON CONSTRAINT conversation_transfers_one DO NOTHING
RETURNING transfer_id;

-- name: transfer_of_tree
-- The transfer that a tree waits for.
SELECT x.transfer_id FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.tree_id = $2;

-- name: get_transfer
-- A transfer for one who takes part in it ($3).
SELECT x.*, c.title FROM conversation_transfers AS x
JOIN conversations AS c ON c.tenant_id = x.tenant_id AND c.conversation_id = x.conversation_id
WHERE x.tenant_id = $1 AND x.transfer_id = $2 AND $3 IN (x.from_user_id, x.to_user_id);

-- name: transfer_exists
-- Whether there is a transfer, whoever takes part in it.
SELECT EXISTS (SELECT FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.transfer_id = $2);

-- name: list_transfers
-- A page of the transfers in which a user takes part, oldest first: as who gives ($3), or as who is to get ($4), behind a
-- moment and an id.
SELECT x.*, c.title FROM conversation_transfers AS x
JOIN conversations AS c ON c.tenant_id = x.tenant_id AND c.conversation_id = x.conversation_id
WHERE x.tenant_id = $1 AND ($3 AND x.from_user_id = $2 OR $4 AND x.to_user_id = $2)
  AND (x.created_at, x.transfer_id) > ($5, $6)
ORDER BY x.created_at, x.transfer_id LIMIT $7;

-- name: delete_transfer
-- Ends a transfer.
DELETE FROM conversation_transfers AS x WHERE x.tenant_id = $1 AND x.transfer_id = $2 RETURNING x.transfer_id;

-- name: change_owner
-- Says who owns a tree.
UPDATE conversation_trees AS t SET owner_user_id = $3 WHERE t.tenant_id = $1 AND t.tree_id = $2;

-- name: set_level
-- Changes the level of a member.
UPDATE conversation_memberships AS m SET access_level = $4
WHERE m.tenant_id = $1 AND m.tree_id = $2 AND m.user_id = $3;
