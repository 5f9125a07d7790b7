-- Nothing of an owner who is being erased is added: a user's notes are in the project of the user's name.

SELECT hold_owners_of('memory_notes', users => ARRAY['x.project_id'], agents => ARRAY['x.agent_id']);
SELECT hold_owners_of('memory_ingest_decisions', users => ARRAY['x.project_id'], agents => ARRAY['x.agent_id']);
-- No trace of a search is kept that was made before an owner of what it has read was erased, and written afterward.
SELECT hold_owners_of(
  'search_trace_outbox', tenant => 'x.payload ->> ''tenant_id''', began => 'x.payload ->> ''created_at''',
  users => ARRAY['x.payload ->> ''project_id''', 'substring(x.payload ->> ''agent_id'' FROM ''^user:(.+)$'')',
    'substring(jsonb_array_elements_text(x.payload -> ''allowed_scopes'') FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.payload ->> ''agent_id''', 'jsonb_array_elements_text(x.payload -> ''allowed_scopes'')']);
