"""The programs that speak MCP for a user: where each keeps its servers on this system, and how it writes one."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final


@dataclass(frozen=True, slots=True, kw_only=True)
class McpClient:
    """A program: `table` is the member of its file that holds the servers, `extra` what an entry has but the command.

    `restart` says what makes it look at the file.
    """

    title: str
    file: Callable[[], Path]
    table: str = "mcpServers"
    extra: Mapping[str, Any]
    restart: str


def _apps(mac_and_windows: str, linux: str | None = None) -> Path:
    """Return the folder in which this system keeps what an application knows."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Application Support" / mac_and_windows
    if sys.platform == "win32":
        roaming = os.environ.get("APPDATA") or Path.home() / "AppData" / "Roaming"
        return Path(roaming) / mac_and_windows
    return _config_home() / (linux or mac_and_windows)


def _config_home() -> Path:
    return Path(os.environ.get("XDG_CONFIG_HOME") or Path.home() / ".config")


def _zed() -> Path:
    return _apps("Zed") if sys.platform == "win32" else _config_home() / "zed"


CLIENTS: Final[Mapping[str, McpClient]] = {
    "claude-desktop": McpClient(
        title="Claude Desktop",
        file=lambda: _apps("Claude") / "claude_desktop_config.json",
        extra={},
        restart="quit Claude Desktop and start it again",
    ),
    "claude-code": McpClient(
        title="Claude Code",
        file=lambda: Path.home() / ".claude.json",
        extra={"type": "stdio"},
        restart="start a new session of Claude Code",
    ),
    "cursor": McpClient(
        title="Cursor",
        file=lambda: Path.home() / ".cursor" / "mcp.json",
        extra={},
        restart="switch the server elf on in Cursor's settings, under MCP",
    ),
    "vscode": McpClient(
        title="VS Code",
        file=lambda: _apps("Code") / "User" / "mcp.json",
        table="servers",
        extra={"type": "stdio"},
        restart="run the command `MCP: List Servers` in VS Code and start elf",
    ),
    "zed": McpClient(
        title="Zed",
        file=lambda: _zed() / "settings.json",
        table="context_servers",
        extra={},
        restart="look for elf in Zed's agent panel",
    ),
    "windsurf": McpClient(
        title="Windsurf",
        file=lambda: Path.home() / ".codeium" / "windsurf" / "mcp_config.json",
        extra={},
        restart="refresh the MCP servers in Windsurf's settings",
    ),
}
