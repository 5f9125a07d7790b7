"""[mcp.*]: what agents that come over MCP cannot choose."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Final, Self

from elf.config.names import ContextName, Names, SentName
from elf.config.table import Table

_OF_IDENTITY: Final = frozenset({"user", "client", "key_file"})


class McpContext(Names):
    """[mcp.context], optional, and so is each key: what MCP tools fill in for the agent.

    An agent cannot choose what is set. What is empty comes from [defaults], or is the agent's to say. `user`, `client`
    and the key in `key_file` say who calls, the others what is called for.
    """

    scope: str = ""
    user: SentName = ""
    client: SentName = ""
    butler: ContextName = ""
    orchestrator_id: ContextName = ""
    key_file: str = ""

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of requests that are set, by their names."""
        return {name: value for name, value in self.given.items() if name not in _OF_IDENTITY}

    def anchored(self, folder: Path) -> Self:
        """Return it with a relative key file taken as below `folder`."""
        return self.model_copy(update={"key_file": str(folder / self.key_file)}) if self.key_file else self


class Mcp(Table):
    """[mcp.*], optional."""

    context: McpContext = McpContext()
