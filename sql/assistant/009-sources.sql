-- A memory that was said several times has several sources.

\ir tables/sources.sql
