"""[defaults]: who a caller is that does not say so, and what it reads and writes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from elf.config.names import Names, SentName

UNNAMED: Final = "default"
"""The tenant, the project and the agent of the command line and of `elf.client.local` where nothing names them."""


class Defaults(Names):
    """[defaults], optional, and so is each key: what the command line, MCP and `elf.client.local` fill in.

    A caller's own value wins. Whoever leaves a key to its default meets the others who do, and finds what they stored.
    """

    scope: str = ""
    user: SentName = ""

    @property
    def fields(self) -> Mapping[str, str]:
        """The fields of requests that are set, by their names; `user` says who calls."""
        return {name: value for name, value in self.given.items() if name != "user"}

    def ids(self) -> dict[str, str]:
        """The tenant, project and agent, UNNAMED where none is named."""
        given = self.given
        return {name: given.get(name, UNNAMED) for name in ("tenant_id", "project_id", "agent_id")}
