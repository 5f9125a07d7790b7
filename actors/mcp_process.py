"""The process `elf-mcp`: MCP for a service that runs elsewhere, over HTTP or, for desktop clients, standard input."""

from __future__ import annotations

import argparse
import signal
import sys
from collections.abc import Sequence
from functools import partial
from pathlib import Path

import anyio

from actors.http_front import bind, bound_address
from actors.kernel.failure import ActorGaveUp
from actors.mcp_front import McpFront
from actors.process import Say, new_supervisor, run_process
from elf.config import Config, load
from elf.config.places import Address, reachable_from_here
from elf.core.errors import ConfigError, ConfigFault, StartupError
from elf.core.logs import configure_logging
from elf.mcp.api import client_of_address
from elf.mcp.sessions import serve_stdio

USAGE, UNAVAILABLE = 2, 3  # exit codes, the same as those of the command line `elf`


def main(argv: Sequence[str] | None = None) -> int:
    """Run `elf-mcp`; `argv` is without the program's name and defaults to the process's own. Returns the exit code."""
    options = _parser().parse_args(argv)
    try:
        config = load(options.config)
        api = _api_address(config, source=str(options.config))
        configure_logging(config.service.log_level)
        if options.stdio:
            return _run_stdio(config, api)
        return run_process(partial(_serve_http, config, api))
    except ConfigError as error:
        return _fail(str(error), USAGE)
    except StartupError as error:
        return _fail(str(error), UNAVAILABLE)
    except ActorGaveUp as error:
        return _fail(f"{error}: {error.__cause__}", UNAVAILABLE)


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="elf-mcp",
        description="Serve the memory tools over MCP. They ask the ELF service at service.http_bind of the config.",
        epilog=f"exit codes: 0 done, {USAGE} wrong usage or config, {UNAVAILABLE} it cannot be started",
    )
    parser.add_argument("-c", "--config", type=Path, required=True, metavar="FILE", help="the config file")
    parser.add_argument(
        "--stdio",
        action="store_true",
        help="speak MCP on standard input and output, for a client that starts this itself; without it, MCP is "
        "served over HTTP at service.mcp_bind",
    )
    return parser


def _api_address(config: Config, *, source: str) -> Address:
    address = reachable_from_here(config.service.http_address)
    if address.port == 0:
        problem = "has port 0, so nobody knows where the service listens"
        raise ConfigError(source, [ConfigFault("service.http_bind", problem)])
    return address


async def _serve_http(config: Config, api: Address, say: Say) -> None:
    supervisor = new_supervisor()
    with bind(config.service.mcp_address, key="service.mcp_bind") as sock:
        supervisor.add(McpFront(config, sock, connect=lambda: client_of_address(api)), stop_timeout_s=6.0)
        async with anyio.create_task_group() as group:
            await group.start(supervisor.run)
            say(f"elf-mcp: ready at http://{bound_address(sock)}/mcp")


def _run_stdio(config: Config, api: Address) -> int:
    # Reading standard input cannot be interrupted, and there is nothing to wind up: an interrupt just ends the process.
    signal.signal(signal.SIGINT, signal.SIG_DFL)
    anyio.run(_serve_stdio, config, api)
    return 0


async def _serve_stdio(config: Config, api: Address) -> None:
    async with client_of_address(api) as http:
        await serve_stdio(config, http)


def _fail(message: str, code: int) -> int:
    print(f"elf-mcp: {message}", file=sys.stderr)  # noqa: T201 - a command line prints
    return code
