-- Erasures over all families, and their receipts.

\ir tables/memory_erasures.sql
