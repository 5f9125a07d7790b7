-- Values that programs keep by namespace and key, with the vectors by which they are found.

\ir tables/items.sql
\ir tables/vectors.sql
\ir tables/outbox.sql
