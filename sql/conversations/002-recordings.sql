-- Answers of agents while they are made, so that whoever comes later sees them from their start.

\ir tables/recordings.sql
