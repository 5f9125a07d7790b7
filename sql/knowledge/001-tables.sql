-- Episodes, facts and rules, what links them, whom they are about, and what became of them.

\ir tables/episodes.sql
\ir tables/entities.sql
\ir tables/facts.sql
\ir tables/rules.sql
\ir tables/rule_applications.sql
\ir tables/links.sql
\ir tables/events.sql
\ir tables/embedding_versions.sql
\ir tables/outbox.sql
