"""What goes wrong with memories of an assistant, in its own words."""

from __future__ import annotations

from uuid import UUID

from elf.core.errors import Conflict, NotFound


def no_memory(memory_id: UUID) -> NotFound:
    """Return the error that this user has no such memory."""
    path = "$.memory_id"
    return NotFound(f"{path}: there is no memory {memory_id}", fields=[path])


def is_deleted(memory_id: UUID) -> Conflict:
    """Return the error that a memory has to be restored before it is changed."""
    path = "$.memory_id"
    return Conflict(f"{path}: memory {memory_id} is deleted; restore it first", fields=[path])


def no_proposal(proposal_id: UUID, path: str = "$.proposal_id") -> NotFound:
    """Return the error that nothing of this id was proposed for this user."""
    return NotFound(f"{path}: there is no proposal {proposal_id}", fields=[path])


def is_decided(proposal_id: UUID, state: str, path: str = "$.proposal_id") -> Conflict:
    """Return the error that a proposal waits for no decision any more."""
    return Conflict(f"{path}: proposal {proposal_id} is {state}", fields=[path])
