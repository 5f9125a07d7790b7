"""Whose memory a client's calls mean, where they write and what they read."""

from __future__ import annotations


def project_of(user: str | None, project_id: str | None) -> str | None:
    """Return the project, which may be called by its user. Raises TypeError when both are given."""
    if user is not None and project_id is not None:
        raise TypeError("give user or project_id, not both: a user is the project of that name")
    return project_id if user is None else user
