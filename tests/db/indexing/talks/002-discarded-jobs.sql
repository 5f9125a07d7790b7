-- Jobs that were given up may be discarded.

\ir ../../../../sql/indexing/discarded-jobs.sql corpus=talks
