"""Text files of a user: what the memory tool of Claude does, and what can be read of them besides."""
