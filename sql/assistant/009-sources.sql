-- A memory that was said several times has several sources.

\ir tables/sources.sql
SELECT hold_owners_of('assistant_memory_sources', users => ARRAY['x.user_id']);
