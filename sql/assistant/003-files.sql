-- The text files that agents keep of a user below /memories.

\ir tables/files.sql
