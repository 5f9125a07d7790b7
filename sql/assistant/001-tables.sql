-- What an assistant remembers of its users, how that changed, what each thread has seen of it, and what users agreed to.

\ir tables/memories.sql
\ir tables/vectors.sql
\ir tables/relations.sql
\ir tables/threads.sql
\ir tables/changes.sql
\ir tables/history.sql
\ir tables/events.sql
\ir tables/turns.sql
\ir tables/outbox.sql
\ir tables/user_context.sql
\ir tables/background.sql
