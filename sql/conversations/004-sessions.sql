-- Sessions: names of users, each for the end of a line of entries, which may go back without losing what it leaves.

\ir tables/sessions.sql
