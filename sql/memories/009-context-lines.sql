-- What ELF itself told, by which it is known again.

\ir tables/memory_context_lines.sql
SELECT hold_owners_of('memory_context_lines', users => ARRAY['x.user_id']);
