"""`elf mcp install`: tell a program that speaks MCP how to start `elf-mcp`, and leave all else in its file as it is."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import shlex
import shutil
import sys
import sysconfig
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Final

from elf.api.key_file import read_key_file
from elf.cli import jsonc
from elf.cli.mcp_clients import CLIENTS, McpClient
from elf.cli.outcome import ExitCode, UsageError
from elf.config import Config, load
from elf.config.tables import TABLES

NAME: Final = "elf"
"""Of the server of the one memory; that of a family has the family's name behind it, so that both may be there."""
MEMORY: Final = "memories"
PROGRAM: Final = "elf-mcp"
_REMOTE: Final = ("url", "serverUrl")


def run(options: argparse.Namespace) -> int:
    """Write the entry into the file of the program, or print it with --print."""
    client = CLIENTS[options.client]
    config = options.config.absolute()
    _check_serves(load(config), options.family)
    name = NAME if options.family == MEMORY else f"{NAME}-{options.family}"
    arguments = ["-c", str(config), "--stdio", "--family", options.family]
    entry = {**client.extra, "command": str(_program()), "args": arguments}
    snippet = json.dumps({client.table: {name: entry}}, indent=2, ensure_ascii=False)
    if options.print:
        print(f"elf: {client.title} reads this from {client.file()}:", file=sys.stderr)
        print(snippet)
        return ExitCode.DONE
    file = client.file().resolve()  # a link to a file kept elsewhere stays a link
    try:
        changed = _install(file, client, name, entry)
    except (OSError, UnicodeDecodeError, jsonc.NotJson) as error:
        raise UsageError(f"{file} is left as it is: {_why(error)}. Put this into it:\n{snippet}") from error
    print(f"{file}: {name} {'is set' if changed else 'was set already'}")
    print(f"Now {client.restart}. The service must run: elf up -c {shlex.quote(str(config))}")
    return ExitCode.DONE


def _check_serves(config: Config, family: str) -> None:
    """Raise UsageError when elf-mcp could not ask the service by this config, which a desktop would tell nobody."""
    if family in TABLES and getattr(config, family, None) is None:
        raise UsageError(f"--family {family}: the config has no table [{family}], so that the family is off")
    if config.service.http_address.port == 0:
        raise UsageError("service.http_bind has port 0, so elf-mcp cannot know where the service listens")
    if config.security.auth.mode == "required" and not config.mcp.context.key_file:
        raise UsageError(
            "mcp.context.key_file is empty, and by security.auth.mode elf-mcp needs a key: "
            "`elf key new NAME --to FILE` makes one, which belongs in no argument that others see"
        )
    if config.mcp.context.key_file:
        try:
            read_key_file(Path(config.mcp.context.key_file))
        except ValueError as error:
            raise UsageError(f"mcp.context.key_file: {error}") from error


def _program() -> Path:
    """Return the program of this very environment, which need not be on the PATH of a desktop."""
    places = dict.fromkeys([sysconfig.get_path("scripts"), str(Path(sys.executable).parent)])
    found = shutil.which(PROGRAM, path=os.pathsep.join(places))
    if found is None:
        where = " or ".join(places)
        raise UsageError(f"there is no {PROGRAM} in {where}: install the service, not the client alone")
    return Path(found).absolute()


def _install(file: Path, client: McpClient, name: str, entry: Mapping[str, Any]) -> bool:
    """Set the entry and tell whether that changed anything. Raises OSError, UnicodeDecodeError, NotJson."""
    before = file.read_bytes() if file.exists() else b""
    changed = before.decode("utf-8-sig")
    _check_is_ours(_entry(jsonc.read(changed), client, name), name)
    for key, value in entry.items():  # one by one, for a user may have added to ours
        if _entry(jsonc.read(changed), client, name).get(key) != value:
            changed = jsonc.with_member(changed, (client.table, name, key), value)
    content = before[: len(before) - len(before.removeprefix(b"\xef\xbb\xbf"))] + changed.encode()
    if content == before:
        return False
    _replace(file, before, content)
    return True


def _entry(whole: Mapping[str, Any], client: McpClient, name: str) -> Mapping[str, Any]:
    servers = whole.get(client.table, {})
    entry = servers.get(name, {}) if isinstance(servers, dict) else {}
    return entry if isinstance(entry, dict) else {}


def _check_is_ours(entry: Mapping[str, Any], name: str) -> None:
    if any(key in entry for key in _REMOTE):
        raise jsonc.NotJson(f"it has a server {name} already, at an address; rename or remove that first")


def _replace(file: Path, before: bytes, content: bytes) -> None:
    """Write a file whole or not at all. Raises OSError, NotJson when somebody else has written to it meanwhile."""
    file.parent.mkdir(parents=True, exist_ok=True)
    handle, temporary = tempfile.mkstemp(prefix=f".{file.name}.", dir=file.parent)
    try:
        with os.fdopen(handle, "wb") as written:
            written.write(content)
            written.flush()
            os.fsync(written.fileno())
        if file.exists():
            shutil.copymode(file, temporary)
        if (file.read_bytes() if file.exists() else b"") != before:
            raise jsonc.NotJson("another program has just written to it; try again")
        os.replace(temporary, file)
    except BaseException:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(temporary)
        raise


def _why(error: Exception) -> str:
    if isinstance(error, UnicodeDecodeError):
        return "it is not UTF-8"
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)
