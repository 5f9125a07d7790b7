"""For whom an agent's calls are: what the config fixes, and what it says for an agent that does not."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.tool import REQUIRED, Tool
from elf.config import Config
from elf.core.errors import ScopeDenied
from elf.core.scopes import AGENT_PRIVATE
from elf.mcp.callers import NOBODY, Identified

IDS: Final = ("tenant_id", "project_id", "agent_id")
PROJECT: Final = "project_id"
USER: Final = "user_id"


class CallContext:
    """Fills in who speaks, and what is read or written, by what binds the caller, [mcp.context] and [defaults].

    `fixed` are the fields that an agent cannot choose, `defaults` the values of what it may leave out.

    A call that has a user means the project of the user's name, not that of [defaults], in which the memory of all
    users would be one. Tools that take a user leave it to the API to derive. Whose key it is that another service
    judges, only that one knows, so that the project is left to it, too.
    """

    def __init__(self, config: Config, by: Identified = NOBODY) -> None:
        self._configured = config.mcp.context.fields
        self.fixed = {**by.caller.bound, **self._configured}
        self.needed = by.caller.needed
        defaults = _defaults(config)
        self._user = by.caller.named_user
        if PROJECT in defaults and self._user is not None:
            defaults[PROJECT] = self._user
        elif by.is_judged_elsewhere:
            defaults.pop(PROJECT, None)
        self.defaults = defaults | self.fixed
        self.kind = frozenset(self.fixed), self.needed, self._user is None, by.is_judged_elsewhere
        """What the tools that a caller sees depend on, of which there are few."""

    def defaults_of(self, tool: Tool) -> dict[str, Any]:
        """Return the defaults that a tool's arguments have. A scope to read from has none: it only narrows."""
        defaults = self._defaults_of(tool)
        return _without_project(defaults, self.fixed) if self._user and _takes_user(tool) else defaults

    def shown_defaults_of(self, tool: Tool) -> dict[str, Any]:
        """Return the defaults that a model is shown: no project, where that depends on the user."""
        defaults = self._defaults_of(tool)
        return _without_project(defaults, self.fixed) if self._user or _takes_user(tool) else defaults

    def _defaults_of(self, tool: Tool) -> dict[str, Any]:
        fields = tool.operation.request.model_fields
        if tool.context is not None:
            said = {
                name: self.fixed.get(
                    name, default if default is REQUIRED else self.defaults.get(name, default)
                )
                for name, default in tool.context.items()
            }
            return {name: value for name, value in said.items() if name in fields and value is not REQUIRED}
        return {
            name: value
            for name, value in self.defaults.items()
            if name in fields and (name != "scope" or not tool.read_only)
        }

    def fixed_of(self, tool: Tool) -> Mapping[str, str]:
        """Return the arguments of a tool that an agent does not choose."""
        if tool.context is None:
            return self.fixed
        return {name: value for name, value in self.fixed.items() if name in tool.context}

    def filled(self, tool: Tool, arguments: Mapping[str, Any]) -> dict[str, Any]:
        """Return the arguments of a call with what they leave out. Raises ScopeDenied where another value is fixed."""
        defaults = self.defaults_of(tool)
        if _takes_user(tool) and arguments.get(USER) is not None:
            defaults = _without_project(defaults, self.fixed)
        given = {
            name: value for name, value in arguments.items() if value is not None or name not in defaults
        }
        self._check(given, self.fixed_of(tool))
        return defaults | given

    def _check(self, given: Mapping[str, Any], fixed: Mapping[str, str]) -> None:
        denied = [name for name, value in fixed.items() if given.get(name, value) != value]
        if denied:
            paths = [f"$.{name}" for name in denied]
            by = "this server's config" if self._configured.keys() >= set(denied) else "who calls"
            raise ScopeDenied(f"{', '.join(paths)}: set by {by}, leave it out", fields=paths)


def _takes_user(tool: Tool) -> bool:
    return USER in tool.operation.request.model_fields


def _without_project(defaults: dict[str, Any], fixed: Mapping[str, str]) -> dict[str, Any]:
    return {name: value for name, value in defaults.items() if name != PROJECT or name in fixed}


def _defaults(config: Config) -> dict[str, str]:
    private = {"scope": AGENT_PRIVATE} if config.scopes.write_allowed.get(AGENT_PRIVATE) else {}
    return {**private, **config.defaults.fields}
