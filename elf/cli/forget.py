"""`elf forget`: deletes all notes of a project, or of one agent in it, private ones among them."""

from __future__ import annotations

import argparse
import sys
from typing import Any

import anyio

from elf.cli.client import Service, admin_get, admin_post
from elf.cli.notes import configured, context
from elf.cli.outcome import ExitCode, Refused, UsageError
from elf.cli.progress import progress
from elf.cli.text import plain, print_json

PATH = "/v1/admin/forget"


def run(options: argparse.Namespace) -> int:
    """Count, ask whoever sits at the terminal, and delete."""
    if options.project is None and options.agent is None:
        raise UsageError("say whose notes to forget: --project ID, --agent ID or both")
    if not options.yes and not sys.stdin.isatty():
        raise UsageError("forget asks before it deletes, and here is nobody to ask: say --yes")
    config = configured(options)
    given = context(options)
    whose = {"tenant_id": given.get("tenant_id"), "project_id": given.get("project_id")}
    if options.agent is not None:
        whose["agent_id"] = options.agent
    notes = anyio.run(_count, Service(config, options, admin=True), whose)
    if notes and not options.yes:
        _ask(notes, whose)
    deleted = anyio.run(_forget, Service(config, options, admin=True), whose, notes)
    if options.json:
        print_json({"deleted": deleted})
    else:
        print(f"{deleted} notes deleted")
    return ExitCode.DONE


def _ask(notes: int, whose: dict[str, Any]) -> None:
    names = ", ".join(f"{name.removesuffix('_id')} {plain(value)}" for name, value in whose.items() if value)
    print(
        f"elf: delete {notes} notes of {names}, private ones among them? [y/N] ",
        end="",
        file=sys.stderr,
        flush=True,
    )
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("nothing was deleted")


async def _count(service: Service, whose: dict[str, Any]) -> int:
    async with service:
        return int((await service.ask(admin_get(PATH, whose))).check().body["notes"])


async def _forget(service: Service, whose: dict[str, Any], notes: int) -> int:
    """Delete what there is, a batch after the other, so that a stop at any moment leaves whole notes."""
    deleted, more = 0, True
    async with service:
        with progress("deleting", unit="notes") as show:
            while more:
                body = (await service.ask(admin_post(PATH, whose))).check().body
                deleted, more = deleted + body["deleted"], body["more"]
                if show is not None:
                    show(deleted, notes)
    return deleted
