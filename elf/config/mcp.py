"""[mcp.*]: what agents that come over MCP cannot choose."""

from __future__ import annotations

from elf.config.names import Names
from elf.config.table import Table


class McpContext(Names):
    """[mcp.context], optional, and so is each key: what MCP tools fill in for the agent.

    An agent cannot choose what is set. What is empty comes from [defaults], or is the agent's to say.
    """


class Mcp(Table):
    """[mcp.*], optional."""

    context: McpContext = McpContext()
