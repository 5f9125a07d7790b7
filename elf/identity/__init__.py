"""Who calls: keys and tokens checked, and what they bind."""
