-- What is shown before it is forgotten.

\ir tables/memory_forget_handles.sql
