-- The whole schema of ELF. Idempotent: run at every start that finds it changed or incomplete.
--
-- `elf.db.schema` runs this file in one transaction under an advisory lock; it resolves the \ir lines and writes the
-- configured dimension for <vector_dim>. The order is that of the dependencies.

CREATE EXTENSION IF NOT EXISTS vector;

\ir schema/tables/schema_state.sql
\ir schema/tables/write_probes.sql

\ir notes/tables/memory_notes.sql
\ir notes/tables/memory_note_chunks.sql
\ir notes/tables/note_chunk_embeddings.sql
\ir notes/tables/note_chunk_tokens.sql
\ir notes/tables/note_embeddings.sql
\ir notes/tables/memory_note_versions.sql
\ir notes/tables/memory_hits.sql
\ir notes/tables/indexing_outbox.sql
\ir notes/tables/note_processes.sql
\ir notes/tables/memory_ingest_decisions.sql

\ir search/tables/search_traces.sql
\ir search/tables/search_trace_items.sql
\ir search/tables/search_trace_outbox.sql
\ir search/tables/llm_cache.sql
