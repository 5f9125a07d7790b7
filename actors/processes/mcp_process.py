"""The process `elf-mcp`: MCP for a service that runs elsewhere, over HTTP or, for desktop clients, standard input."""

from __future__ import annotations

import signal
import socket
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import anyio

from actors.assembly.identity import add_identity
from actors.families import FAMILIES
from actors.fronts.connections import Connections
from actors.fronts.descriptors import connection_limit
from actors.fronts.http_front import bind, bound_address
from actors.fronts.mcp_front import McpFront
from actors.processes.entry import entry_parser, run_entry
from actors.processes.process import Say, new_supervisor, run_process, start_log
from elf.config import Config, load
from elf.config.limits import body_budget
from elf.config.places import Address, reachable_from_here
from elf.core.errors import ConfigError, ConfigFault
from elf.family import Family, families_on, refuse_doubles, tables_of
from elf.identity.known_callers import KnownCallers
from elf.mcp.api import client_of_address
from elf.mcp.callers import Callers
from elf.mcp.sessions import serve_stdio
from elf.memory.model import FAMILY as MEMORY


def main(argv: Sequence[str] | None = None, families: Sequence[Family] = FAMILIES) -> int:
    """Run `elf-mcp`; `argv` is without the program's name and defaults to the process's own. Returns the exit code.

    `families` are those that there are, of which those serve that are on by the config.
    """
    parser = entry_parser(
        "elf-mcp",
        "Serve the memory tools over MCP. They ask the ELF service at service.http_bind of the config.",
    )
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="speak MCP on standard input and output, for a client that starts this itself; without it, MCP is "
        "served over HTTP at service.mcp_bind",
    )
    parser.add_argument(
        "--family",
        choices=[family.name for family in families if family.tools],
        default=MEMORY,
        help="whose tools to offer on standard input and output (default: %(default)s); over HTTP, all have a path",
    )
    options = parser.parse_args(argv)
    return run_entry(
        "elf-mcp", lambda: _run(options.config, families, options.family if options.stdio else None)
    )


def _run(path: Path, families: Sequence[Family], family: str | None) -> int:
    """Serve this family on standard input and output, or all that are on over HTTP."""
    refuse_doubles(families)
    config = load(path, tables_of(families))
    families = families_on(families, config)
    chosen = None if family is None else _chosen(family, families, source=str(path))
    api = _api_address(config, source=str(path))
    start_log(config.service, source=str(path))
    if chosen is not None:
        return _run_stdio(config, chosen, api, source=str(path))
    reload = partial(load, path, tables_of(families))
    return run_process(partial(_bind_and_serve, config, families, api, reload))


def _chosen(name: str, families: Sequence[Family], *, source: str) -> Family:
    for family in families:
        if family.name == name:
            return family
    raise ConfigError(source, [ConfigFault(name, "this table is missing, so that the family is off")])


def _api_address(config: Config, *, source: str) -> Address:
    address = reachable_from_here(config.service.http_address)
    if address.port == 0:
        problem = "has port 0, so nobody knows where the service listens"
        raise ConfigError(source, [ConfigFault("service.http_bind", problem)])
    return address


async def _bind_and_serve(
    config: Config, families: Sequence[Family], api: Address, reload: Callable[[], Config], say: Say
) -> None:
    with bind(config.service.mcp_address, key="service.mcp_bind") as sock:
        await serve_http(
            config,
            families,
            sock,
            api=api,
            ready=lambda: say(f"elf-mcp: ready at http://{bound_address(sock)}/mcp"),
            reload=reload,
        )


async def serve_http(
    config: Config,
    families: Sequence[Family],
    sock: socket.socket,
    *,
    api: Address,
    ready: Callable[[], object],
    reload: Callable[[], Config],
) -> None:
    """Serve MCP on a bound socket until cancelled, asking the API at `api`; calls `ready` once it is.

    `reload` reads the config file again at SIGHUP, for who calls.
    """
    supervisor = new_supervisor()
    connections = Connections(McpFront.name, connection_limit(config.service.limits, fronts=1, pooled=0))
    front = McpFront(
        config,
        sock,
        families=families,
        identify=add_identity(config.security.auth, supervisor, reload=reload),
        connect=lambda: client_of_address(api),
        connections=connections,
        bodies=body_budget(config.service.limits),
    )
    supervisor.add(front, stop_timeout_s=6.0)
    async with anyio.create_task_group() as group:
        await group.start(supervisor.run)
        ready()


def _run_stdio(config: Config, family: Family, api: Address, *, source: str) -> int:
    # Reading standard input cannot be interrupted, and there is nothing to wind up: an interrupt just ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve_stdio, config, family, api, source)
    return 0


async def _serve_stdio(config: Config, family: Family, api: Address, source: str) -> None:
    by = await Callers(config, KnownCallers(config.security.auth)).of_config(source=source)
    async with client_of_address(api) as http:
        await serve_stdio(config, http, family, by)
