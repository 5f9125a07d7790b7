"""Tells receivers elsewhere what became of items: at least once, in order for what is of one owner, signed."""
