-- The names that users have for conversations, once a conversation of the name was deleted.

\ir tables/names.sql
