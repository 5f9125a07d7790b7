"""Candidates for memories, out of text."""
