-- The names that users have for conversations, once a conversation of the name was deleted.

\ir tables/names.sql
SELECT hold_owners_of('conversation_names', users => ARRAY['x.user_id']);
