"""Taking memories along: out of one service, and into another."""
