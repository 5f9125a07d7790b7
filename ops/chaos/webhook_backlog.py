#!/usr/bin/env python3
"""Have events of many owners wait for a receiver that is away: what that costs, and how fast they are told afterward.

    python -m ops.chaos.webhook_backlog [--owners 250000] [--events 1] [--away gone hanging failing] [--minutes 3]

Events are written by the function that the families' triggers call. For each way of being away, the processor time of
the service's processes is measured over a minute; before, that of the same service without any backlog. Then the
receiver is back: the deliveries are counted for some minutes, and the order of each owner's events is checked. Exits
with 1 when the service takes more than 0.05 of a core while the receiver is away, delivers fewer than 150 events a
second, or tells an owner's events in another order. What else runs on the machine shows in its load.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import asyncpg
import psutil

from tests.folders import fresh_folder
from tests.system.planting import dsn_of
from tests.system.service import RunningService, write_config

MAX_CORES: Final = 0.05
MIN_DELIVERIES_PER_S: Final = 150.0
SECRET: Final = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SETTLE_S: Final = 30.0
"""How long the service has to find out that the receiver is away, and Postgres to be done with what was written."""
PROBE_GRACE_S: Final = 30.0
"""How long it may take after the receiver is back until it is told the first event."""
FILL_PAGE: Final = 10_000


class Receiver:
    """Counts the events that it takes, and notes those of an owner that come out of their order. Runs in its thread."""

    def __init__(self) -> None:
        self.taken = 0
        self.calls = 0
        self.disorder: list[str] = []
        self._last: dict[str, int] = {}
        self._mood = "well"
        self._loop = asyncio.new_event_loop()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()
        threading.Thread(target=self._loop.run_forever, daemon=True).start()
        self.port = self._do(self._listen(0))

    def turn(self, mood: str) -> None:
        """Be well, gone (refuse connections), hanging (never answer) or failing (answer 500)."""
        self._do(self._turn(mood))

    def _do(self, work):  # type: ignore[no-untyped-def]
        return asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _turn(self, mood: str) -> None:
        self._mood = mood
        for writer in [*self._writers]:
            writer.close()
        if mood == "gone" and self._server is not None:
            self._server.close()
            self._server = None
        elif mood != "gone" and self._server is None:
            await self._listen(self.port)

    async def _listen(self, port: int) -> int:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        return int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while True:
                head = await reader.readuntil(b"\r\n\r\n")
                (size,) = [
                    int(line.split(b":")[1])
                    for line in head.split(b"\r\n")
                    if line.lower().startswith(b"content-length")
                ]
                body = await reader.readexactly(size)
                self.calls += 1
                if self._mood == "hanging":
                    continue
                if self._mood == "well":
                    self._take(json.loads(body)["data"])
                status = b"204 No Content" if self._mood == "well" else b"500 Internal Server Error"
                writer.write(b"HTTP/1.1 " + status + b"\r\nContent-Length: 0\r\n\r\n")
        except (asyncio.IncompleteReadError, ConnectionError):
            pass
        finally:
            self._writers.discard(writer)
            writer.close()

    def _take(self, data: dict[str, str]) -> None:
        owner, number = data["user_id"], int(data["item_id"])
        last = self._last.get(owner, 0)
        if number > last + 1:  # one that comes again is no fault
            self.disorder.append(f"{owner}: event {number} came after {last}")
        self._last[owner] = max(last, number)
        self.taken += 1


class ProcessorTime:
    """The processor time of a service's processes, also of those that ended."""

    def __init__(self, service: RunningService) -> None:
        self._roots = [psutil.Process(service.process.pid), service.postmaster()]

    def seconds(self) -> float:
        """Return how much they have taken so far."""
        total = 0.0
        for process in {one for root in self._roots for one in (root, *root.children(recursive=True))}:
            try:
                times = process.cpu_times()
            except psutil.NoSuchProcess:
                continue
            total += times.user + times.system + times.children_user + times.children_system
        return total

    def cores(self, seconds: float) -> float:
        """Return how many cores they take over so many seconds."""
        began, before = time.monotonic(), self.seconds()
        time.sleep(seconds)
        return (self.seconds() - before) / (time.monotonic() - began)


async def fill(dsn: str, owners: int, events: int) -> None:
    """Write events of so many owners, as the triggers of the families do, and have Postgres settle."""
    connection = await asyncpg.connect(dsn)
    for number in range(1, events + 1):
        for first in range(0, owners, FILL_PAGE):
            await connection.execute(
                "SELECT tell_change('written', 'store', 'value', $1::text, 'backlog', owner => 'u' || i)"
                " FROM generate_series($2::int, $3::int - 1) AS i",
                str(number), first, min(first + FILL_PAGE, owners),
            )  # fmt: skip
    await connection.execute("VACUUM ANALYZE webhook_outbox")
    await connection.execute("CHECKPOINT")
    await connection.close()


async def waiting(dsn: str) -> int:
    connection = await asyncpg.connect(dsn)
    number = await connection.fetchval(
        "SELECT count(*) FROM webhook_outbox WHERE status IN ('PENDING', 'FAILED')"
    )
    await connection.close()
    return int(number)


def load() -> str:
    return f"load {os.getloadavg()[0]:.1f} of {os.cpu_count()} cores"


def config_for(folder: Path, port: int) -> Path:
    config = write_config(folder)
    with config.open("a", encoding="utf-8") as file:
        file.write(
            f'\n[[webhooks]]\nname = "backlog"\nurl = "http://127.0.0.1:{port}/"\nsecret = "{SECRET}"\n'
            "allow_private = true\nmax_backlog = 10000000\n"
        )
    return config


def besiege(owners: int, events: int, away: Sequence[str], minutes: float, seconds: float) -> list[str]:
    """Do it all; returns what does not hold."""
    faults: list[str] = []
    receiver = Receiver()
    with fresh_folder() as folder, RunningService(config_for(folder, receiver.port)) as service:
        dsn, processor = dsn_of(service), ProcessorTime(service)
        time.sleep(5)
        print(f"no backlog: {processor.cores(seconds):.3f} of a core ({load()})", flush=True)
        receiver.turn(away[0])
        began = time.monotonic()
        asyncio.run(fill(dsn, owners, events))
        print(f"{owners * events} events of {owners} owners in {time.monotonic() - began:.0f} s", flush=True)
        for mood in away:
            receiver.turn(mood)
            time.sleep(SETTLE_S)
            calls = receiver.calls
            cores = processor.cores(seconds)
            print(
                f"the receiver is {mood}: {cores:.3f} of a core, {receiver.calls - calls} calls ({load()})",
                flush=True,
            )
            if cores > MAX_CORES:
                faults.append(f"{cores:.3f} of a core while the receiver is {mood}; at most {MAX_CORES}")
        faults += drain(receiver, processor, dsn, minutes)
        faults += [line for line in service.complaints() if "Traceback" in line]
    return faults


def drain(receiver: Receiver, processor: ProcessorTime, dsn: str, minutes: float) -> list[str]:
    """Have the receiver back, and count for some minutes, or until nothing waits."""
    receiver.turn("well")
    back = time.monotonic()
    while not receiver.taken and time.monotonic() - back < PROBE_GRACE_S:
        time.sleep(0.1)
    print(f"back: the first event after {time.monotonic() - back:.1f} s", flush=True)
    rates: list[float] = []
    cores: list[float] = []
    for _ in range(round(minutes * 6)):
        began, before, busy = time.monotonic(), receiver.taken, processor.seconds()
        time.sleep(10)
        took = time.monotonic() - began
        left = asyncio.run(waiting(dsn))
        if not left:
            break
        rates.append((receiver.taken - before) / took)
        cores.append((processor.seconds() - busy) / took)
        print(f"  {rates[-1]:6.0f} a second, {cores[-1]:.2f} cores, {left} wait ({load()})", flush=True)
    rate = sum(rates) / len(rates) if rates else 0.0
    by_core = sum(rates) / sum(cores) if rates else 0.0
    print(
        f"{rate:.0f} deliveries a second, {by_core:.0f} for each core that the service had;"
        f" {len(receiver.disorder)} out of order",
        flush=True,
    )
    faults = receiver.disorder[:10]
    if rate < MIN_DELIVERIES_PER_S:
        faults.append(f"{rate:.0f} deliveries a second; at least {MIN_DELIVERIES_PER_S:.0f}")
    return faults


def main() -> int:
    """Besiege, report, and return the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--owners", type=int, default=250_000)
    parser.add_argument("--events", type=int, default=1, help="how many of each owner")
    parser.add_argument(
        "--away", nargs="+", choices=["gone", "hanging", "failing"], default=["gone", "hanging", "failing"]
    )
    parser.add_argument("--minutes", type=float, default=3.0, help="how long deliveries are counted")
    parser.add_argument("--seconds", type=float, default=60.0, help="how long processor time is measured")
    options = parser.parse_args()
    faults = besiege(options.owners, options.events, options.away, options.minutes, options.seconds)
    print(*faults, sep="\n")
    return 1 if faults else 0


if __name__ == "__main__":
    sys.exit(main())
