"""The tools as MCP shows them, and what a call of one does."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from mcp.shared.exceptions import MCPError
from mcp_types import INVALID_PARAMS, CallToolResult, TextContent, Tool, ToolAnnotations

from elf.config import Config
from elf.config.model import NOTE_TYPES
from elf.core.errors import ServiceError
from elf.families.notes.operations import ADD_NOTE, SEARCH
from elf.mcp import flat_filters, one_note
from elf.mcp.api import Answer, Api
from elf.mcp.context import IDS, CallContext
from elf.mcp.schemas import Schema, input_schema
from elf.mcp.tools import TOOLS, ToolText

BRIEF = {"detail": "brief"}


class Toolbox:
    """All tools over one API."""

    def __init__(self, config: Config, api: Api) -> None:
        self._api = api
        self.context = CallContext(config)
        self._texts = {text.name: text for text in TOOLS}
        self._tools = {text.name: _tool(text, self.context, config) for text in TOOLS}

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
        try:
            return _result(await self._ask(text, self.context.filled(text, arguments)))
        except ServiceError as failure:
            return _result(Answer.of_failure(failure))

    async def _ask(self, text: ToolText, arguments: Mapping[str, Any]) -> Answer:
        if text.operation is ADD_NOTE:
            answer = await self._api.ask(ADD_NOTE, one_note.as_list(arguments))
            return answer if "notes" in arguments else one_note.of_arguments(answer)
        brief = BRIEF if text.operation.brief is not None else {}
        if text.operation is SEARCH:
            answer = await self._api.ask(SEARCH, {**brief, **flat_filters.as_filters(arguments)})
            return flat_filters.of_arguments(answer, arguments)
        return await self._api.ask(text.operation, {**brief, **arguments})


def _tool(text: ToolText, context: CallContext, config: Config) -> Tool:
    return Tool(
        name=text.name,
        title=text.title,
        description=text.description,
        input_schema=_input_schema(text, context, config),
        annotations=ToolAnnotations(
            title=text.title,
            read_only_hint=text.read_only,
            destructive_hint=text.destructive,
            idempotent_hint=text.idempotent,
            open_world_hint=False,
        ),
    )


def _input_schema(text: ToolText, context: CallContext, config: Config) -> Schema:
    is_add = text.operation is ADD_NOTE
    writable = [scope for scope in config.scopes.allowed if config.scopes.write_allowed[scope]]
    return input_schema(
        _request_schema(text),
        _meanings(text, context, _facts(config)),
        choices={
            "type": NOTE_TYPES,
            "scope": config.scopes.allowed if text.read_only else writable,
            "read_profile": list(config.scopes.read_profiles),
        },
        defaults={**context.defaults_of(text), **(one_note.DEFAULTS if is_add else {})},
    )


def _request_schema(text: ToolText) -> Schema:
    if text.operation is ADD_NOTE:
        return one_note.request_schema()
    return (
        flat_filters.request_schema()
        if text.operation is SEARCH
        else text.operation.request.model_json_schema()
    )


def _meanings(text: ToolText, context: CallContext, facts: Mapping[str, Any]) -> dict[str, str]:
    """Return what is said of each argument that an agent chooses. Of an id to leave out, its default says enough."""
    return {
        name: "" if name in IDS and name in context.defaults else meaning.format(**facts)
        for name, meaning in text.arguments.items()
        if name not in context.fixed
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
