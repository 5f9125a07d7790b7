-- Nothing of an owner who is being erased is added to what contexts showed either.

SELECT hold_owners_of('memory_context_lines', users => ARRAY['x.user_id']);
