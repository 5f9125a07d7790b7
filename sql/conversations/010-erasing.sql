-- Nothing of an owner who is being erased is added.

SELECT hold_owners_of('conversation_trees', users => ARRAY['x.owner_user_id', 'x.creator']);
SELECT hold_owners_of('conversation_memberships', users => ARRAY['x.user_id']);
SELECT hold_owners_of('conversation_transfers', users => ARRAY['x.from_user_id', 'x.to_user_id']);
SELECT hold_owners_of('conversation_entries', users => ARRAY['x.user_id'], agents => ARRAY['x.client_id']);
SELECT hold_owners_of('conversation_sessions', users => ARRAY['x.user_id']);
SELECT hold_owners_of('conversation_recordings');
