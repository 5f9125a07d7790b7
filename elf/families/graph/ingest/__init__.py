"""Files that are dropped become memories: each ends in processed/ or rejected/, with a manifest that says why."""
