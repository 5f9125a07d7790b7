"""`elf status`: whether the service is ready, how much it holds, and what an operator should know."""

from __future__ import annotations

import argparse
from collections.abc import Iterable
from dataclasses import replace
from typing import Any

import anyio

from elf.cli.client import Reply, Service, admin_get
from elf.cli.outcome import ExitCode, Refused, Unreachable, UsageError
from elf.cli.terminal import terminal
from elf.cli.text import print_columns, print_json
from elf.client.calls import Calls
from elf.config import Config, load

OVERVIEW = "/v1/admin/overview"
JOB_COUNTS = "/v1/admin/jobs/counts"
PATIENCE_S = 10.0
UNITS = ("B", "KB", "MB", "GB", "TB")

Row = tuple[str, str]


def run(options: argparse.Namespace) -> int:
    """Ask the service; the exit code is that of an unavailable service until every part is ready."""
    config = load(options.config)
    service = Service(config, options)
    reply = anyio.run(_ready, service)
    if "parts" not in reply.body:
        raise Refused(reply.message())
    if options.json:
        print_json(reply.body)
    else:
        rows = [*_headline(reply.body, service.address), *anyio.run(_figures, config, options)]
        rows += [("config", str(options.config)), *_parts(reply.body, everyone=options.parts)]
        rows += [("warning", warning) for warning in reply.body.get("warnings", ())]
        _print(rows)
    return ExitCode.DONE if reply.body["ready"] else ExitCode.UNAVAILABLE


async def _ready(service: Service) -> Reply:
    async with service:
        return await service.ask(Calls().ready())


async def _figures(config: Config, options: argparse.Namespace) -> list[Row]:
    """Return what the admin address tells; it reaches no further than the service's machine, and may be elsewhere."""
    try:
        async with Service(config, options, admin=True) as service:
            overview = replace(admin_get(OVERVIEW), timeout_s=PATIENCE_S)
            rows = _figure_rows((await service.ask(overview)).check().body)
            counts = await service.ask(replace(admin_get(JOB_COUNTS), timeout_s=PATIENCE_S))
            try:
                return rows + _given_up(counts.check().body)
            except Refused as error:  # such as where callers have to name a tenant
                return [*rows, ("given up", f"not counted: {error}")]
    except (Unreachable, UsageError, Refused) as error:
        return [("figures", f"unknown: {error}")]


def _headline(body: dict[str, Any], address: str) -> list[Row]:
    process = f" (process {body['process']}, one of several)" if body.get("process") else ""
    return [("service", f"{'ready' if body['ready'] else 'not ready'} at {address}{process}")]


def _figure_rows(body: dict[str, Any]) -> list[Row]:
    deleted, disk = body["deleted_notes"], body["disk_bytes"]
    sizes = ", ".join(f"{name} {size(count)}" for name, count in disk.items())
    return [
        ("version", body["version"]),
        ("notes", f"{body['notes']:,}" + (f", and {deleted:,} deleted" if deleted else "")),
        ("waiting", _waiting(body)),
        ("model", _model(body)),
        ("disk", f"{size(sum(disk.values()))}: {sizes}"),
    ]


def _waiting(body: dict[str, Any]) -> str:
    if not body["waiting_jobs"]:
        return "no jobs"
    failed = f", {body['failed_jobs']:,} of them after a failure" if body["failed_jobs"] else ""
    return f"{body['waiting_jobs']:,} jobs{failed}, the oldest for {body['oldest_job_seconds']:.0f} s"


def _given_up(body: dict[str, Any]) -> list[Row]:
    """Return a row where jobs were given up, and so wait for whoever runs the service."""
    counts = {queue["queue"]: queue["given_up"] for queue in body["items"] if queue["given_up"]}
    if not counts:
        return []
    each = ", ".join(f"{queue} {count:,}" for queue, count in counts.items())
    return [("given up", f"{sum(counts.values()):,} jobs ({each}): `elf admin jobs list --state GIVEN_UP`")]


def _model(body: dict[str, Any]) -> str:
    left, notes = body["notes_to_embed"], body["notes"]
    if not left:
        return str(body["embedding_version"])
    share = 100 * (notes - left) // notes
    return f"{body['embedding_version']}, {left:,} of {notes:,} notes are still to be embedded with it ({share}% done)"


def _parts(body: dict[str, Any], *, everyone: bool) -> list[Row]:
    parts = body["parts"]
    ready = [part for part in parts if part["state"] == "ready"]
    told = parts if everyone else [part for part in parts if part not in ready]
    rows = [("parts", f"{len(ready)} of {len(parts)} ready")]
    for part in told:
        restarts = f", {part['restarts']} restarts" if part["restarts"] else ""
        why = f": {part['last_error']}" if part["last_error"] else ""
        rows.append(("", f"{part['name']} {part['state']}{restarts}{why}"))
    return rows


def _print(rows: Iterable[Row]) -> None:
    if (console := terminal()) is not None:
        from elf.cli.screens.status import figures

        console.print(figures(rows))
    else:
        print_columns(rows)


def size(count: int) -> str:
    """Return a number of bytes in the unit that suits it, such as 1.5 GB; a KB is 1,024 bytes."""
    number, unit = float(count), 0
    while number >= 1000 and unit < len(UNITS) - 1:
        number, unit = number / 1024, unit + 1
    return f"{number:.{0 if unit == 0 or number >= 100 else 1}f} {UNITS[unit]}"
