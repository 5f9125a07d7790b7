"""By what name something is kept where no agent is at work."""

from __future__ import annotations

from typing import Final

AGENT_OF_NOBODY: Final = "memory"
"""The agent that it is of: the same for the client, which asks for it by this name, and for every family."""


def agent_of(agent_id: str | None) -> str | None:
    """Return the agent that something is of; None where it is of none, by whatever name that is kept."""
    return None if agent_id in (None, "", AGENT_OF_NOBODY) else agent_id
