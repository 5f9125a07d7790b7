#!/usr/bin/env python3
"""Send a service the most awkward requests that are legal, and measure how long its event loop is held by each.

    python -m ops.fuzz.loop_hold -c FILE [--seed 1] [--only REGEX] [--most-ms 50]

The service runs in this process, with a probe on its own loop; the requests come from a process of their own, one after
the other. Printed is for each the longest that the loop's thread worked, and the longest that the loop was late, which
on a busy machine is more. Exits with 1 when the thread worked longer than that on anything.
"""

from __future__ import annotations

import argparse
import json
import re
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any
from uuid import uuid4

import anyio
import anyio.to_thread
import httpx

from elf.config import Config, load
from elf.config.processes import EVERY_ROLE
from elf.core.logs import configure_logging
from tests import awkward_requests
from tests.loop_probe import Hold, LoopProbe

if TYPE_CHECKING:
    from actors.system import System

PAUSE_S = 0.05  # between requests, so that each has holds of its own
SHOWN_S = 0.03
INDEXED_S = 300.0  # within which what was written is found
MCP_HEADERS = {"content-type": "application/json", "accept": "application/json, text/event-stream"}


@dataclass(frozen=True, slots=True)
class Attack:
    """Where the service listens, and what is sent there."""

    url: str
    admin_url: str
    mcp_url: str
    seed: int
    only: str

    def run(self) -> None:
        """Send the requests; print when each began and ended, by the clock that all processes share."""
        tenant = f"hostile {self.seed}"
        with httpx.Client(base_url=self.url, timeout=120.0) as http:
            for sent in self._public(http, tenant):
                self._send(sent.label, lambda sent=sent: _request(http, sent))
        with httpx.Client(base_url=self.admin_url, timeout=120.0) as http:
            for sent in awkward_requests.operations(tenant):
                self._send(sent.label, lambda sent=sent: _request(http, sent))
        with httpx.Client(timeout=120.0, headers=MCP_HEADERS) as http:
            for label, content in awkward_requests.calls(tenant, self.seed):
                self._send(label, lambda content=content: http.post(self.mcp_url, content=content))

    def _public(self, http: httpx.Client, tenant: str) -> Iterator[awkward_requests.Sent]:
        yield from awkward_requests.writes(tenant, self.seed)
        yield from awkward_requests.events(tenant, self.seed)
        yield from awkward_requests.searches(tenant, self.seed)
        yield from awkward_requests.reads(tenant)
        yield from awkward_requests.faults(tenant)
        yield from awkward_requests.lives(tenant, _pages(http, tenant))
        yield from awkward_requests.explanations(tenant, _handles(http, tenant))
        yield from self._long(http, tenant)

    def _long(self, http: httpx.Client, tenant: str) -> Iterator[awkward_requests.Sent]:
        """Long texts, each until it is indexed: what that holds up is counted, too."""
        conversation = str(uuid4())
        for sent in awkward_requests.long_entries(conversation):
            yield sent
            if sent.method == "GET" and re.search(self.only, sent.label):
                yield self._indexing(http, sent.label)
        yield from awkward_requests.long_memories(tenant)

    def _indexing(self, http: httpx.Client, label: str) -> awkward_requests.Sent:
        """Return a search for the entry that a label names, when that is found by its meaning."""
        name = label.removeprefix("long entry of ").removesuffix(", read")
        beginning = awkward_requests.BEGINNING.format(name)
        query = {"query": beginning, "searchType": "semantic", "groupByConversation": False}
        label, path = f"long entry of {name}, found", "/v1/conversations/search"
        search = awkward_requests.Sent(label, "POST", path, json.dumps(query).encode())
        without = replace(search, body=json.dumps({**query, "includeEntry": False}).encode())
        until = time.monotonic() + INDEXED_S
        while beginning not in _request(http, without).text.replace("**", ""):
            if time.monotonic() > until:
                raise TimeoutError(f"{name} is not found within {INDEXED_S} s")
            time.sleep(PAUSE_S)
        return search

    def _send(self, label: str, send: Any) -> None:
        if not re.search(self.only, label):
            return
        time.sleep(PAUSE_S)
        began = time.monotonic()
        response = send()
        line = {
            "label": label, "began": began, "ended": time.monotonic(), "status": response.status_code,
            "bytes": len(response.content),
        }  # fmt: skip
        print(json.dumps(line), flush=True)
        time.sleep(PAUSE_S)


def _request(http: httpx.Client, sent: awkward_requests.Sent) -> httpx.Response:
    return http.request(
        sent.method, sent.path, content=sent.body or None, params=sent.params, headers=sent.headers
    )


def _pages(http: httpx.Client, tenant: str) -> Iterator[list[dict[str, Any]]]:
    params = {"tenant_id": tenant, "project_id": "p", "limit": "200"}
    while True:
        page = http.get("/v1/memory/list", params=params).json()
        yield page["items"]
        if page["next_cursor"] is None:
            return
        params["cursor"] = page["next_cursor"]


def _handles(http: httpx.Client, tenant: str) -> list[str]:
    (sent,) = [sent for sent in awkward_requests.searches(tenant, 1) if sent.label == "search sentences"]
    items = _request(http, sent).json()["items"]
    time.sleep(2.0)  # traces are written a moment later
    return [item["result_handle"] for item in items[:1]]


async def measure(config: Config, seed: int, only: str) -> tuple[LoopProbe, list[dict[str, Any]]]:
    """Run the service and the attack; return what the probe saw and what was sent."""
    from actors.system import serve  # the process that sends the requests runs this module, too

    probe = LoopProbe()
    lines: list[dict[str, Any]] = []

    async with anyio.create_task_group() as group:

        async def attack(system: System) -> None:
            command = [
                sys.executable, "-m", "ops.fuzz.loop_hold", "--seed", str(seed), "--only", only, "--attack",
                f"http://{system.http_address}", f"http://{system.fronts.admin}", f"http://{system.fronts.mcp}/mcp",
            ]  # fmt: skip
            done = await anyio.to_thread.run_sync(
                lambda: subprocess.run(command, stdout=subprocess.PIPE, check=True)
            )
            lines.extend(map(json.loads, done.stdout.splitlines()))
            group.cancel_scope.cancel()

        with probe.watching():
            await serve(config, EVERY_ROLE, ready=lambda system: group.start_soon(attack, system))
    return probe, lines


def report(probe: LoopProbe, lines: list[dict[str, Any]]) -> float:
    """Print what held the loop longest, request by request, and return the longest that its thread worked, in ms."""
    rows = []
    first, last = lines[0]["began"] - PAUSE_S, lines[-1]["ended"] + PAUSE_S
    holds_then = [
        hold for hold in probe.holds if first <= hold.ended <= last
    ]  # not those of starting and stopping
    left = list(holds_then)
    for line in lines:
        holds = [hold for hold in left if line["began"] - PAUSE_S <= hold.ended <= line["ended"] + PAUSE_S]
        left = [hold for hold in left if hold not in holds]
        worst = max(holds, key=lambda hold: hold.cpu_s, default=None)
        rows.append((worst, max((hold.wall_s for hold in holds), default=0.0), line))
    for worst, wall_s, line in sorted(rows, key=lambda row: row[0].cpu_s if row[0] else 0.0, reverse=True):
        cpu_s = worst.cpu_s if worst else 0.0
        took_ms = (line["ended"] - line["began"]) * 1000
        print(
            f"{cpu_s * 1000:7.1f} ms worked {wall_s * 1000:7.1f} ms late  {line['status']} {line['bytes']:9d} B "
            f"{took_ms:8.0f} ms  {line['label']}"
        )
        if worst:
            _show(worst)
    beside = max(left, key=lambda hold: hold.cpu_s, default=None)
    beside_ms = 0.0 if beside is None else beside.cpu_s * 1000
    print(f"{len(lines)} requests; other work of the service {beside_ms:.1f} ms at most")
    if beside is not None:
        _show(beside)
    return max((hold.cpu_s for hold in holds_then), default=0.0) * 1000


def _show(hold: Hold) -> None:
    """Print what a long hold was at."""
    if hold.cpu_s > SHOWN_S:
        for where in hold.where[:: max(1, len(hold.where) // 3)][:3]:
            print("            ", where[:200])


def main() -> int:
    """Measure and return the exit code."""
    parser = argparse.ArgumentParser(description="Measure how long the event loop of a service is held.")
    parser.add_argument("-c", "--config", type=Path)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--only", default="", help="a regular expression of the requests to send, by their label"
    )
    parser.add_argument("--most-ms", type=float, default=50.0)
    parser.add_argument("--attack", nargs=3, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.attack:
        Attack(*options.attack, options.seed, options.only).run()
        return 0
    config = load(options.config)
    configure_logging("error")
    probe, lines = anyio.run(
        measure, config, options.seed, options.only, backend_options={"use_uvloop": True}
    )
    return 1 if not lines or report(probe, lines) > options.most_ms else 0


if __name__ == "__main__":
    raise SystemExit(main())
