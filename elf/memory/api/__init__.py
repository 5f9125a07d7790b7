"""What the one memory can be asked for, as data."""
