"""The MCP server: one for streamable HTTP, where each request stands alone, and one for standard input and output."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from contextlib import AsyncExitStack, asynccontextmanager
from importlib.metadata import PackageNotFoundError, version
from typing import Any

import httpx
from mcp.server.context import CallNext, HandlerResult, ServerRequestContext
from mcp.server.lowlevel.server import Server
from mcp.server.stdio import stdio_server
from mcp.server.streamable_http_manager import StreamableHTTPSessionManager
from mcp_types import CallToolRequestParams, CallToolResult, ListToolsResult

from elf.config import Config
from elf.family import Family
from elf.mcp.api import Api
from elf.mcp.callers import IDENTIFIED, NOBODY, Identified
from elf.mcp.toolbox import Toolbox

AsgiHandler = Callable[[Any, Any, Any], Awaitable[None]]


def memory_server(
    config: Config, http: httpx.AsyncClient, family: Family, *, by: Identified = NOBODY
) -> Server[Any]:
    """Return a server of the family's tools, which forward to the API behind `http`.

    A request is made by whoever the gate let in with it, without a gate by `by`.
    """
    toolbox = Toolbox(config, Api(http), family.tools)

    def about(caller: Identified) -> str:
        context = toolbox.context(caller)
        return family.about(fixed=context.fixed, defaults=context.defaults)

    async def list_tools(context: Any, _params: Any) -> ListToolsResult:
        return ListToolsResult(tools=toolbox.tools(_who(context, by)))

    async def call_tool(context: Any, params: CallToolRequestParams) -> CallToolResult:
        return await toolbox.call(params.name, params.arguments or {}, _who(context, by))

    async def instruct(ctx: ServerRequestContext[Any, Any], call_next: CallNext) -> HandlerResult:
        """Tell each caller what it may leave out."""
        result = await call_next(ctx)
        if isinstance(result, dict) and "instructions" in result:
            result["instructions"] = about(_who(ctx, by))
        return result

    server: Server[Any] = Server(
        "elf",
        version=_version(),
        title="ELF memory",
        instructions=about(by),
        get_tool_input_schema=toolbox.input_schema,
        on_list_tools=list_tools,
        on_call_tool=call_tool,
    )
    server.middleware.append(instruct)
    return server


def _who(context: Any, otherwise: Identified) -> Identified:
    if context.request is None:
        return otherwise
    identified: Identified = context.request.scope[IDENTIFIED]
    return identified


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


async def serve_stdio(config: Config, http: httpx.AsyncClient, family: Family, by: Identified) -> None:
    """Serve the one client at standard input and output, who is `by`, until it closes the input."""
    server = memory_server(config, http, family, by=by)
    async with stdio_server() as (incoming, outgoing):
        await server.run(incoming, outgoing, server.create_initialization_options())


def _version() -> str:
    try:
        return version("elf-memory")
    except PackageNotFoundError:  # a source tree that is not installed
        return "0"
