-- Nothing of an owner who is being erased is added.

SELECT hold_owners_of('conversation_trees', users => ARRAY['x.owner_user_id', 'x.creator']);
SELECT hold_owners_of('conversation_memberships', users => ARRAY['x.user_id']);
SELECT hold_owners_of('conversation_transfers', users => ARRAY['x.from_user_id', 'x.to_user_id']);
SELECT hold_owners_of(
  'conversation_entries', agents => ARRAY['x.client_id'],
  users => ARRAY['x.user_id',
    '(SELECT t.owner_user_id FROM conversation_trees AS t WHERE t.tenant_id = x.tenant_id AND t.tree_id = x.tree_id)']);
SELECT hold_owners_of('conversation_sessions', users => ARRAY['x.user_id']);
SELECT hold_owners_of('conversation_recordings');
