"""The tools as MCP shows them, and what a call of one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool, ToolAnnotations

from elf.config import Config
from elf.core.errors import InvalidRequest
from elf.mcp.api import Answer, Api
from elf.mcp.schemas import Schema, input_schema, output_schema
from elf.mcp.tools import TOOLS, ToolText


class Toolbox:
    """All tools over one API.

    `fixed` are the fields that the config sets and an agent therefore cannot, `defaults` those that it may leave out.
    """

    def __init__(self, config: Config, api: Api) -> None:
        self._api = api
        self.fixed = config.mcp.context.given
        self.defaults = config.defaults.given
        self._texts = {text.name: text for text in TOOLS}
        hints = _hints(config)
        self._tools = {text.name: _tool(text, self.fixed, self.defaults, hints) for text in TOOLS}

    @property
    def tools(self) -> list[Tool]:
        return list(self._tools.values())

    def input_schema(self, name: str) -> Schema | None:
        """Return the input schema of a tool; None when there is none of that name."""
        tool = self._tools.get(name)
        return None if tool is None else tool.input_schema

    async def call(self, name: str, arguments: Mapping[str, Any]) -> CallToolResult:
        """Forward a call. Raises MCPError when there is no such tool; every other failure is a result."""
        if (text := self._texts.get(name)) is None:
            raise MCPError(INVALID_PARAMS, f"there is no tool {name}")
        if taken := [field for field in self.fixed if field in arguments]:
            return _result(Answer.of_failure(_not_yours(taken)))
        said = {
            name: value for name, value in arguments.items() if value is not None or name not in self.defaults
        }
        filled = {**_filling(text, self.defaults), **said, **_filling(text, self.fixed)}
        return _result(await self._api.ask(text.operation, filled))


def _filling(text: ToolText, names: Mapping[str, str]) -> dict[str, str]:
    """Return those of the names that a tool's request has; a scope is filled in only where notes are written."""
    fields = text.operation.request.model_fields
    return {
        name: value
        for name, value in names.items()
        if name in fields and (name != "scope" or not text.read_only)
    }


def _tool(
    text: ToolText, fixed: Mapping[str, str], defaults: Mapping[str, str], hints: Mapping[str, str]
) -> Tool:
    return Tool(
        name=text.name,
        title=text.title,
        description=text.description,
        input_schema=input_schema(
            text.operation.request, without=fixed.keys(), optional=_filling(text, defaults), hints=hints
        ),
        output_schema=output_schema(text.operation.response),
        annotations=ToolAnnotations(
            title=text.title,
            read_only_hint=text.read_only,
            destructive_hint=text.destructive,
            idempotent_hint=text.idempotent,
            open_world_hint=False,
        ),
    )


def _hints(config: Config) -> dict[str, str]:
    """Return what an agent has to know of the config to fill in a field."""
    scopes = config.scopes
    writable = [scope for scope in scopes.allowed if scopes.write_allowed[scope]]
    closed = (
        "" if writable == scopes.allowed else f" Notes can be written to {', '.join(writable) or 'none'}."
    )
    profiles = "; ".join(
        f"{name} reads {', '.join(read) or 'nothing'}" for name, read in scopes.read_profiles.items()
    )
    return {
        "scope": f"Here there are {', '.join(scopes.allowed)}.{closed}",
        "read_profile": f"Here there are: {profiles}.",
        "text": f"Here that is {config.memory.max_note_chars} characters.",
        "top_k": f"Here that is {config.memory.top_k}.",
        "candidate_k": f"Here that is {config.memory.candidate_k}.",
    }


def _not_yours(fields: list[str]) -> InvalidRequest:
    paths = [f"$.{field}" for field in fields]
    return InvalidRequest(f"{', '.join(paths)}: set by this server's config, leave it out", fields=paths)


def _result(answer: Answer) -> CallToolResult:
    # No structured content with an error: clients would hold it against the output schema.
    return CallToolResult(
        content=[TextContent(type="text", text=answer.text)],
        structured_content=answer.body if answer.ok else None,
        is_error=not answer.ok,
    )
