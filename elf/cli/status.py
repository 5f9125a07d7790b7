"""`elf status`: whether the service is ready, the state of each of its parts, and what an operator should know."""

from __future__ import annotations

import argparse

import anyio

from elf.cli.client import Reply, Service
from elf.cli.outcome import ExitCode, Refused
from elf.cli.text import plain, print_columns, print_json
from elf.client.calls import Calls
from elf.config import load


def run(options: argparse.Namespace) -> int:
    """Ask the service; the exit code is that of an unavailable service until every part is ready."""
    config = load(options.config)

    async def ask() -> tuple[str, Reply]:
        async with Service(config) as service:
            return service.address, await service.ask(Calls().ready())

    address, reply = anyio.run(ask)
    if "parts" not in reply.body:
        raise Refused(reply.message())
    if options.json:
        print_json(reply.body)
    else:
        process = reply.body.get("process")
        whose = f" (process {process}, one of several)" if process else ""
        print(f"{'ready' if reply.body['ready'] else 'not ready'} at {address}{whose}")
        print_columns(
            (f"  {part['name']}", part["state"], f"restarts {part['restarts']}", part["last_error"] or "")
            for part in reply.body["parts"]
        )
        for warning in reply.body.get("warnings", ()):
            print(f"  warning: {plain(warning)}")
    return ExitCode.DONE if reply.body["ready"] else ExitCode.UNAVAILABLE
