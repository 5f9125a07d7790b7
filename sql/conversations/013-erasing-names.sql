-- Nothing of an owner who is being erased is added to names either.

SELECT hold_owners_of('conversation_names', users => ARRAY['x.user_id']);
