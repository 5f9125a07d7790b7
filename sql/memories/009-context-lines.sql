-- What ELF itself told, by which it is known again.

\ir tables/memory_context_lines.sql
