"""Whose memory a client's calls mean, where they write and what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TypeAlias
from uuid import UUID

from elf.client.inputs import DEFAULT_SCOPE

Given: TypeAlias = str | int | UUID | None
"""What a field of a path or of a query string may be."""


@dataclass(frozen=True, slots=True)
class Context:
    """Goes with every call that takes it; what is None is not sent, and the service says when it needs it.

    `scope` is where notes are written when a call does not say.
    """

    tenant_id: str | None = None
    project_id: str | None = None
    agent_id: str | None = None
    read_profile: str | None = None
    scope: str = DEFAULT_SCOPE

    def owner(self) -> dict[str, Given]:
        """Return the fields that say whose memory it is."""
        return {"tenant_id": self.tenant_id, "project_id": self.project_id, "agent_id": self.agent_id}


def project_of(user: str | None, project_id: str | None) -> str | None:
    """Return the project, which may be called by its user. Raises TypeError when both are given."""
    if user is not None and project_id is not None:
        raise TypeError("give user or project_id, not both: a user is the project of that name")
    return project_id if user is None else user
