-- Jobs that end the process they run in are told from those that were only beside them.

\ir ../outbox/tables/job_runs.sql
