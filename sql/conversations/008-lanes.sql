-- The jobs that index entries are done for one tenant after the other.

\ir ../indexing/lanes.sql corpus=conversations
