-- The vector index in Postgres alone (storage.qdrant.url = "pgvector:"). Idempotent; run only where that is configured.
--
-- Everything here is derived: it may be dropped at any moment and is filled again from the stored vectors. Tables of
-- another form get other names, so that processes of two versions can work side by side. <space> tells the tables of an
-- index space from those of others; it is filled in when the space is opened.

\ir tables/index_shelves.sql
\ir tables/index_points.sql
\ir tables/index_postings.sql
