-- The tables of notes, in the order of their dependencies.

\ir tables/memory_notes.sql
\ir tables/memory_note_chunks.sql
\ir tables/note_chunk_embeddings.sql
\ir tables/note_chunk_tokens.sql
\ir tables/note_embeddings.sql
\ir tables/memory_note_versions.sql
\ir tables/memory_hits.sql
\ir tables/indexing_outbox.sql
\ir tables/note_processes.sql
\ir tables/memory_ingest_decisions.sql
