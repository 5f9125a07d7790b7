"""The MCP server: one for streamable HTTP, where each request stands alone, and one for standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

from elf.config import Config
from elf.family import Family
from elf.mcp.api import Api
from elf.mcp.toolbox import Toolbox

AsgiHandler = Callable[[Any, Any, Any], Awaitable[None]]


def memory_server(config: Config, http: httpx.AsyncClient, family: Family) -> Server[Any]:
    """Return a server of the family's tools, which forward to the API behind `http`."""
    toolbox = Toolbox(config, Api(http), family.tools)

    async def list_tools(_context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=toolbox.tools)

    async def call_tool(_context: Any, params: CallToolRequestParams) -> CallToolResult:
        return await toolbox.call(params.name, params.arguments or {})

    return Server(
        "elf",
        version=_version(),
        title="ELF memory",
        instructions=family.about(fixed=toolbox.context.fixed, defaults=toolbox.context.defaults),
        get_tool_input_schema=toolbox.input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )


@asynccontextmanager
async def open_sessions(
    config: Config, http: httpx.AsyncClient, families: Sequence[Family]
) -> AsyncIterator[Mapping[str, AsgiHandler]]:
    """Serve streamable HTTP, one exchange a POST, answered with JSON; yields what handles a request, by its path.

    Must be entered and left by the same task.
    """
    async with AsyncExitStack() as stack:
        handlers: dict[str, AsgiHandler] = {}
        for family in families:
            manager = StreamableHTTPSessionManager(
                memory_server(config, http, family), json_response=True, stateless=True
            )
            await stack.enter_async_context(manager.run())
            handlers[family.mcp_path] = manager.handle_request
        yield handlers


async def serve_stdio(config: Config, http: httpx.AsyncClient, family: Family) -> None:
    """Serve the one client at standard input and output until it closes the input."""
    server = memory_server(config, http, family)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _version() -> str:
    try:
        return version("elf-memory")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0"
