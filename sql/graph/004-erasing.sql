-- No memory is begun of an agent, or in a tenant, that is being erased.

SELECT hold_owners_of('graph_homes', agents => ARRAY['x.orchestrator_id']);
SELECT hold_owners_of('graph_changes_told', agents => ARRAY['x.orchestrator_id']);

-- Holds the locks of the owners of a change to the memory of an orchestrator until the transaction ends: the tenant, the
-- orchestrator, users, and the conversations that it is from. False while one of them is being erased. The conversations of
-- a user who is being erased are known when nobody holds their lock, which is one for all of a tenant.
CREATE OR REPLACE FUNCTION hold_owners_of_change(
  tenant text, orchestrator text, users text[], from_conversations text[]
) RETURNS boolean LANGUAGE plpgsql AS $$
BEGIN
  IF NOT hold_owner(tenant, 'tenant', tenant) OR NOT hold_owner(tenant, 'agent', orchestrator) THEN
    RETURN false;
  END IF;
  IF NOT (SELECT coalesce(bool_and(hold_owner(tenant, 'user', u.name)), true) FROM unnest(users) AS u (name)) THEN
    RETURN false;
  END IF;
  IF cardinality(from_conversations) = 0 THEN
    RETURN true;
  END IF;
  PERFORM pg_advisory_xact_lock_shared(owner_lock(tenant, 'conversations', tenant));
  RETURN NOT EXISTS (
    SELECT FROM memory_erasures AS e WHERE e.tenant_id = tenant AND e.conversations && from_conversations);
END $$;
