-- What every family of memory builds on: vectors, the proof that writing works, traces of searches, answers of models.

CREATE EXTENSION IF NOT EXISTS vector;

\ir tables/write_probes.sql

\ir ../search/tables/search_traces.sql
\ir ../search/tables/search_trace_items.sql
\ir ../search/tables/search_trace_outbox.sql
\ir ../search/tables/llm_cache.sql
