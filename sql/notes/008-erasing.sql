-- Nothing of an owner who is being erased is added: a user's notes are in the project of the user's name.

SELECT hold_owners_of('memory_notes', users => ARRAY['x.project_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of('memory_ingest_decisions', users => ARRAY['x.project_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of(
  'search_trace_outbox', tenant => 'x.payload ->> ''tenant_id''',
  users => ARRAY['x.payload ->> ''project_id''', 'substring(x.payload ->> ''agent_id'' FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.payload ->> ''agent_id''']);
