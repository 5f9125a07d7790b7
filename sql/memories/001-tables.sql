-- What recalls over all families keep: the token vectors of texts that they compare, and what each answer was made of.

\ir tables/memory_tokens.sql
\ir tables/memory_traces.sql
