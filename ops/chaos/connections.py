#!/usr/bin/env python3
"""Connections in plenty to a running service, and a client among them that must be served all the time.

First, connections that come and go: each asks one thing, reads the answer and closes. Then crowds that stay: of
connections that never send anything, of requests whose headers or bodies do not end, and of clients that keep
connections open which they no longer use. Every answer to the client among them must be 200.

Give it the config file of a service on this machine alone, and start that service with few descriptors, such as

    (ulimit -n 1024 && elf up -c elf.toml)
"""

from __future__ import annotations

import argparse
import asyncio
import collections
import resource
import sys
import time
from collections.abc import Awaitable, Callable, Sequence
from pathlib import Path

from elf.config import load
from elf.config.places import Address, is_loopback

PATIENCE_S = 20.0
CROWD_PAUSE_S = 0.002  # between two connections of a crowd
ASK_EVERY_S = 0.02

GET = b"GET /health HTTP/1.1\r\nHost: localhost\r\n\r\n"
CROWDS = {
    "that never send anything": b"",
    "with half of a header": GET[:-2],
    "with half of a body": b"POST %s HTTP/1.1\r\nHost: localhost\r\nContent-Length: 9\r\n\r\n{",
    "kept open": GET,
}
BODY_PATHS = (b"/v1/memory/search", b"/mcp", b"/nothing")

Outcomes = collections.Counter[str]


async def ask(address: Address) -> str:
    """Ask one thing on a connection of its own, and return how that went."""
    try:
        async with asyncio.timeout(PATIENCE_S):
            reader, writer = await asyncio.open_connection(*address)
            try:
                writer.write(GET)
                status = await reader.readline()
            finally:
                writer.close()
        return "200" if status.startswith(b"HTTP/1.1 200 ") else repr(status[:20])
    except (OSError, TimeoutError) as error:
        return type(error).__name__


async def come_and_go(addresses: Sequence[Address], *, rate: float, seconds: float) -> Outcomes:
    """Open and close `rate` connections a second, to all addresses in turn."""
    outcomes: Outcomes = collections.Counter()
    begin = time.monotonic()
    async with asyncio.TaskGroup() as group:
        for number in range(int(rate * seconds)):
            await asyncio.sleep(max(0.0, begin + number / rate - time.monotonic()))
            asked = group.create_task(ask(addresses[number % len(addresses)]))
            asked.add_done_callback(lambda task: outcomes.update([task.result()]))
    return outcomes


async def stay(addresses: Sequence[Address], beginning: bytes, *, count: int, seconds: float) -> Outcomes:
    """Hold `count` connections to each address which all begin so, and ask among them."""
    crowd: list[asyncio.StreamWriter] = []
    outcomes: Outcomes = collections.Counter()

    async def gather() -> None:
        for number in range(count):
            for address in addresses:
                _, writer = await asyncio.open_connection(*address)
                crowd.append(writer)
                path = BODY_PATHS[number % len(BODY_PATHS)]
                writer.write(beginning % path if b"%s" in beginning else beginning)
            await asyncio.sleep(CROWD_PAUSE_S)
        await asyncio.sleep(seconds)

    gathering = asyncio.create_task(gather())
    try:
        while not gathering.done():
            outcomes.update([await ask(address) for address in addresses])
            await asyncio.sleep(ASK_EVERY_S)
        await gathering
    finally:
        gathering.cancel()
        for writer in crowd:
            writer.transport.abort()
    return outcomes


async def run(addresses: Sequence[Address], options: argparse.Namespace) -> bool:
    """Do all of it; returns whether all was well."""
    acts: dict[str, Callable[[], Awaitable[Outcomes]]] = {
        f"{options.rate:g} connections a second for {options.seconds:g} s": lambda: come_and_go(
            addresses, rate=options.rate, seconds=options.seconds
        )
    }
    for name, beginning in CROWDS.items():
        acts[f"{options.crowd} connections to each of {len(addresses)} ports {name}"] = (
            lambda beginning=beginning: stay(  # type: ignore[misc]
                addresses, beginning, count=options.crowd, seconds=options.crowd_seconds
            )
        )
    well = True
    for name, act in acts.items():
        outcomes = await act()
        print(f"{name}: {dict(outcomes)}", flush=True)
        well = well and set(outcomes) == {"200"}
    return well


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("-c", "--config", type=Path, required=True)
    parser.add_argument("--rate", type=float, default=100.0, help="connections a second (default 100)")
    parser.add_argument("--seconds", type=float, default=120.0, help="for so long (default 120)")
    parser.add_argument("--crowd", type=int, default=1500, help="connections of a crowd (default 1500)")
    parser.add_argument("--crowd-seconds", type=float, default=5.0, help="how long it stays (default 5)")
    options = parser.parse_args()
    service = load(options.config).service
    addresses = [service.http_address, service.admin_address, service.mcp_address]
    if not all(is_loopback(address) for address in addresses):
        sys.exit("only for a service that this machine alone reaches")
    _, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    sys.exit(0 if asyncio.run(run(addresses, options)) else 1)


if __name__ == "__main__":
    main()
