-- What was said and is to be remembered, and what each family makes of it.

\ir tables/memory_said.sql
