-- Jobs that were given up may be discarded.

\ir ../indexing/discarded-jobs.sql corpus=conversations
