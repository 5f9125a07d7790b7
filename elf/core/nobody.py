"""By what name something is kept where no agent is at work."""

from __future__ import annotations

from typing import Final

AGENT_OF_NOBODY: Final = "memory"
"""The agent that it is of: the same for the client, which asks for it by this name, and for every family."""
