"""`elf rebuild` and `elf drift`: writing the index anew, and comparing it with Postgres."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import anyio

from elf.cli.client import Reply, Service, admin_get, admin_post
from elf.cli.outcome import ExitCode, Unreachable
from elf.cli.progress import Show, progress
from elf.cli.text import plain, print_columns, print_json
from elf.config import load

LOOK_EVERY_S = 0.2
KINDS = ("missing", "stale", "orphaned")


def rebuild(options: argparse.Namespace) -> int:
    """Rebuild and wait for the report; the exit code says whether the index took every point."""
    try:
        reply = anyio.run(_rebuild, options)
    except KeyboardInterrupt:
        raise KeyboardInterrupt("the rebuild goes on in the service") from None
    if options.json:
        print_json(reply.body)
    else:
        print_columns(_counts(reply.check().body))
    return max(reply.exit_code, ExitCode.REJECTED if reply.body.get("error_count") else ExitCode.DONE)


def drift(options: argparse.Namespace) -> int:
    """Compare, and repair when told to; the exit code says whether any drift is left."""
    reply = anyio.run(_drift, options)
    if options.json:
        print_json(reply.body)
    else:
        _show_drift(reply.check().body)
    return max(reply.exit_code, ExitCode.REJECTED if _is_left(reply.body) else ExitCode.DONE)


def _is_left(body: dict[str, Any]) -> bool:
    if "open_jobs" in body:
        return bool(body["open_jobs"])
    return any(body.get(f"{kind}_count") for kind in KINDS)


async def _rebuild(options: argparse.Namespace) -> Reply:
    async with Service(load(options.config), options, admin=True) as service:
        with _progress("rebuilding the index", options) as show:
            return await _watched(service, show)


async def _watched(service: Service, show: Show | None) -> Reply:
    """Ask for a rebuild and, when somebody looks, show how far it is until the answer comes."""
    replies: list[Reply] = []
    failures: list[Unreachable] = []
    async with anyio.create_task_group() as group:
        if show is not None:
            group.start_soon(_follow, service, show)
        try:
            replies.append(await service.ask(admin_post("/v1/admin/rebuild_qdrant")))
        except (
            Unreachable
        ) as error:  # kept aside, so that it leaves the task group as itself and not as a group
            failures.append(error)
        group.cancel_scope.cancel()
    if failures:
        raise failures[0]
    return replies[0]


async def _follow(service: Service, show: Show) -> None:
    while True:
        try:
            reply = await service.ask(admin_get("/v1/admin/rebuild_qdrant"))
        except Unreachable:
            return  # the answer to the rebuild itself will say so
        if reply.body.get("state") == "running":  # it tells of the last one, too
            show(reply.body["done"], reply.body["total"])
        await anyio.sleep(LOOK_EVERY_S)


async def _drift(options: argparse.Namespace) -> Reply:
    async with Service(load(options.config), options, admin=True) as service:
        with _progress("repairing the index" if options.repair else "comparing the index", options):
            if options.repair:
                return await service.ask(admin_post("/v1/admin/index_repair"))
            return await service.ask(admin_get("/v1/admin/index_drift", {"examples": options.examples}))


@contextmanager
def _progress(label: str, options: argparse.Namespace) -> Iterator[Show | None]:
    """Show a bar, on a terminal only; it swings until it is told how far the work is."""
    if options.json:
        yield None
        return
    with progress(label, unit="points") as show:
        yield show


def _counts(body: dict[str, Any]) -> list[tuple[str, Any]]:
    return [(name.removesuffix("_count"), value) for name, value in body.items() if name.endswith("_count")]


def _show_drift(body: dict[str, Any]) -> None:
    print_columns(_counts(body))
    for kind, examples in body.get("examples", {}).items():
        for example in examples:
            print(f"  {kind}: chunk {plain(example['chunk_id'])} of note {plain(example['note_id'])}")
    if body.get("open_jobs"):
        print(
            f"elf: {body['open_jobs']} of {body['jobs']} notes are still being worked on",
            file=sys.stderr,
        )
