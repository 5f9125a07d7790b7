"""The tools as MCP shows them, and what a call of one does."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, ToolAnnotations
from mcp_types import Tool as ShownTool

from elf.api.tool import Schema, Tool
from elf.config import Config
from elf.config.model import NOTE_TYPES
from elf.core.errors import ServiceError
from elf.mcp.api import Answer, Api
from elf.mcp.arguments import ArgumentReader
from elf.mcp.callers import NOBODY, Identified
from elf.mcp.context import IDS, CallContext
from elf.mcp.schemas import input_schema

BRIEF = {"detail": "brief"}


class Toolbox:
    """Tools over one API."""

    def __init__(self, config: Config, api: Api, tools: Sequence[Tool]) -> None:
        self._config = config
        self._api = api
        self._tools = {tool.name: tool for tool in tools}
        self._shown: dict[object, list[ShownTool]] = {}
        self._readers: dict[str, ArgumentReader] = {}

    def context(self, by: Identified) -> CallContext:
        """Return the context in which a caller's calls are made."""
        return CallContext(self._config, by)

    def tools(self, by: Identified) -> list[ShownTool]:
        """Return the tools as a caller sees them: without what it cannot choose."""
        context = self.context(by)
        if context.kind not in self._shown:
            self._shown[context.kind] = [_shown(tool, context, self._config) for tool in self._tools.values()]
        return self._shown[context.kind]

    def input_schema(self, name: str) -> Schema | None:
        """Return the input schema of a tool, for whom nothing binds; None when there is none of that name."""
        return next((tool.input_schema for tool in self.tools(NOBODY) if tool.name == name), None)

    async def call(self, name: str, arguments: Mapping[str, Any], by: Identified) -> CallToolResult:
        """Forward a call. Raises MCPError when there is no such tool; every other failure is a result."""
        if (tool := self._tools.get(name)) is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {name}")
        try:
            read = self._reader(tool).read(arguments)
            return _result(await self._ask(tool, self.context(by).filled(tool, read), by))
        except ServiceError as failure:
            return _result(Answer.of_failure(failure))

    def _reader(self, tool: Tool) -> ArgumentReader:
        if tool.name not in self._readers:  # a schema takes some milliseconds
            self._readers[tool.name] = ArgumentReader(_request_schema(tool))
        return self._readers[tool.name]

    async def _ask(self, tool: Tool, arguments: Mapping[str, Any], by: Identified) -> Answer:
        brief = BRIEF if tool.operation.brief is not None else {}
        fields = arguments if tool.reshaping is None else tool.reshaping.as_request(arguments)
        answer = await self._api.ask(tool.operation, {**brief, **fields}, by.headers)
        if answer.ok or tool.reshaping is None:
            return answer
        body = tool.reshaping.as_failure(answer.body, arguments)
        return answer if body == answer.body else Answer.of_error(body)


def _shown(tool: Tool, context: CallContext, config: Config) -> ShownTool:
    return ShownTool(
        name=tool.name,
        title=tool.title,
        description=tool.description,
        input_schema=_input_schema(tool, context, config),
        annotations=ToolAnnotations(
            title=tool.title,
            read_only_hint=tool.read_only,
            destructive_hint=tool.destructive,
            idempotent_hint=tool.idempotent,
            open_world_hint=False,
        ),
    )


def _input_schema(tool: Tool, context: CallContext, config: Config) -> Schema:
    writable = [scope for scope in config.scopes.allowed if config.scopes.write_allowed[scope]]
    return input_schema(
        _request_schema(tool),
        _meanings(tool, context, _facts(config)),
        choices={
            "type": NOTE_TYPES,
            "scope": config.scopes.allowed if tool.read_only else writable,
            "read_profile": list(config.scopes.read_profiles),
        }
        if tool.context is None
        else {},
        defaults={**context.shown_defaults_of(tool), **(tool.reshaping.defaults if tool.reshaping else {})},
        filled_in=context.defaults_of(tool).keys(),
        needed=context.needed,
    )


def _request_schema(tool: Tool) -> Schema:
    return tool.operation.request.model_json_schema() if tool.reshaping is None else tool.reshaping.schema()


def _meanings(tool: Tool, context: CallContext, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what is said of each argument that an agent chooses. Of an id to leave out, its default says enough."""
    fixed, defaults = context.fixed_of(tool), context.shown_defaults_of(tool)
    return {
        name: "" if name in IDS and name in defaults else meaning.format(**facts)
        for name, meaning in tool.arguments.items()
        if name not in fixed
    }


def _facts(config: Config) -> dict[str, Any]:
    """Return what an agent has to know of the config to fill in an argument."""
    profiles = config.scopes.read_profiles.items()
    return {
        "max_note_chars": config.memory.max_note_chars,
        "top_k": config.memory.top_k,
        "profiles": "; ".join(f"{name}: {', '.join(read) or 'nothing'}" for name, read in profiles),
    }


def _result(answer: Answer) -> CallToolResult:
    # One form only: some clients show a model the text, some the structured content, some both.
    return CallToolResult(content=[TextContent(type="text", text=answer.text)], is_error=not answer.ok)
