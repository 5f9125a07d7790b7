-- What graphs of LangGraph keep of their threads, and what the newest checkpoint of a thread says for everybody else.

\ir tables/checkpoints.sql
