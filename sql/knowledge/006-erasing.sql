-- Nothing of an owner who is being erased is added. That a memory was erased is told during an erasure, and names nobody.

SELECT hold_owners_of(
  'knowledge_episodes', users => ARRAY['x.user_id', 'substring(x.butler FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.butler']);
SELECT hold_owners_of(
  'knowledge_facts', users => ARRAY['x.user_id', 'substring(x.scope FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.scope', 'x.reader', 'x.source_butler']);
SELECT hold_owners_of(
  'knowledge_rules', users => ARRAY['x.user_id', 'substring(x.scope FROM ''^user:(.+)$'')'],
  agents => ARRAY['x.scope', 'x.reader', 'x.source_butler']);
SELECT hold_owners_of('knowledge_entities', users => ARRAY['x.user_id']);
SELECT hold_owners_of('knowledge_links');
SELECT hold_owners_of(
  'knowledge_rule_applications', users => ARRAY['x.actor'], agents => ARRAY['x.actor']);
SELECT hold_owners_of(
  'knowledge_events', tenant => 'CASE WHEN x.event_type <> ''memory_erased'' THEN x.tenant_id END',
  users => ARRAY['x.user_id', 'x.actor'], agents => ARRAY['x.actor']);
