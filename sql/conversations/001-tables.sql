-- Conversations: trees of them, who may see each tree, what was said, and what agents remember of it.

\ir tables/trees.sql
\ir tables/conversations.sql
\ir tables/entries.sql
\ir tables/texts.sql
\ir ../indexing/tables.sql corpus=conversations rows=conversation_texts key=entry_id
\ir tables/chunk_tokens.sql
