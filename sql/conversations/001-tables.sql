-- Conversations: trees of them, who may see each tree, what was said, and what agents remember of it.

\ir tables/trees.sql
\ir tables/conversations.sql
\ir tables/entries.sql
