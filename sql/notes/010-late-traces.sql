-- No trace of a search is kept that was made before an owner of what it has read was erased, and written afterward.

SELECT hold_owners_of(
  'search_trace_outbox', tenant => 'x.payload ->> ''tenant_id''', began => 'x.payload ->> ''created_at''',
  users => ARRAY['x.payload ->> ''project_id''', 'substring(x.payload ->> ''agent_id'' FROM ''^user:(.+)$'')',
    'substring(jsonb_array_elements_text(x.payload -> ''allowed_scopes'') FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.payload ->> ''agent_id''', 'jsonb_array_elements_text(x.payload -> ''allowed_scopes'')']);
