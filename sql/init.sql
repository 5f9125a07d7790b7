-- The whole schema of ELF: the numbered steps of what all families share, then those of each family. Idempotent.
--
-- A starting process (`elf.db.migration`) applies those that the database has no record of, one transaction a step, and
-- writes the configured dimension for <vector_dim>. A step that was applied is never edited: a change is a new step.

\ir common/tables/schema_steps.sql
\ir common/001-tables.sql
\ir common/002-leased-work.sql
\ir common/003-changes.sql
\ir common/004-discarded-jobs.sql
\ir common/005-process-deaths.sql
\ir common/006-webhook-heads.sql
\ir common/007-audit-log.sql
\ir notes/001-tables.sql
\ir notes/002-leases.sql
\ir notes/003-corpus.sql
\ir notes/004-subjects.sql
\ir notes/005-changes.sql
\ir notes/006-discarded-jobs.sql
\ir notes/007-lanes.sql
\ir knowledge/001-tables.sql
\ir knowledge/002-changes.sql
\ir knowledge/003-discarded-jobs.sql
\ir knowledge/004-lanes.sql
\ir knowledge/005-users.sql
\ir conversations/001-tables.sql
\ir conversations/002-recordings.sql
\ir conversations/003-subjects.sql
\ir conversations/004-sessions.sql
\ir conversations/005-session-keys.sql
\ir conversations/006-changes.sql
\ir conversations/007-discarded-jobs.sql
\ir conversations/008-lanes.sql
\ir conversations/009-indexed-content.sql
\ir conversations/010-folded.sql
\ir graph/001-tables.sql
\ir graph/002-changes.sql
\ir graph/003-lost.sql
\ir assistant/001-tables.sql
\ir assistant/002-checkpoints.sql
\ir assistant/003-files.sql
\ir assistant/004-changes.sql
\ir assistant/005-discarded-jobs.sql
\ir assistant/006-lanes.sql
\ir store/001-tables.sql
\ir store/002-changes.sql
\ir store/003-discarded-jobs.sql
\ir store/004-lanes.sql
\ir memories/001-tables.sql
\ir memories/002-said.sql
\ir memories/003-forgetting.sql
\ir memories/004-erasing.sql
\ir memories/005-trace-texts.sql
\ir memories/006-discarded-jobs.sql
\ir memories/007-lanes.sql
