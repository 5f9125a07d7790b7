-- Nothing of an owner who is being erased is added to sources either.

SELECT hold_owners_of('assistant_memory_sources', users => ARRAY['x.user_id']);
