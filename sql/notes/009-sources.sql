-- A note that was said several times has several sources.

\ir tables/note_sources.sql
