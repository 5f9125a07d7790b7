-- Nothing of an owner who is being erased is added.

SELECT hold_owners_of('store_items', users => ARRAY['x.user_id']);
SELECT hold_owners_of('store_vectors', users => ARRAY['x.user_id']);
SELECT hold_owners_of('store_outbox', users => ARRAY['x.user_id']);
