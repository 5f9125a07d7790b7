"""The embedded index: Qdrant Edge in a process of its own, served to local processes over a unix socket."""
