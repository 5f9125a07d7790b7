-- No memory is begun of an agent, or in a tenant, that is being erased.

SELECT hold_owners_of('graph_homes', agents => ARRAY['x.orchestrator_id']);
SELECT hold_owners_of('graph_changes_told', agents => ARRAY['x.orchestrator_id']);
