"""`elf admin jobs`: the jobs that wait, failed, were given up or discarded, and what becomes of those given up."""

from __future__ import annotations

import argparse
from typing import Any, Final

from elf.cli.client import Reply, Service, admin_get, admin_post
from elf.cli.commands import EXIT_CODES, Commands
from elf.cli.flags import json_flag
from elf.cli.notes import run_request, say_more
from elf.cli.outcome import Refused
from elf.cli.text import print_columns
from elf.config import Config

JOBS: Final = "/v1/admin/jobs"
STATES: Final = ("PENDING", "FAILED", "GIVEN_UP", "DISCARDED")
FIELDS: Final = (
    "queue", "id", "state", "tenant_id", "subject_kind", "subject_id", "attempts", "process_deaths",
    "updated_at", "last_error",
)  # fmt: skip


def add_commands(commands: Commands) -> None:
    """Add the commands below `elf admin jobs`."""
    listing = commands.add("list", list_jobs, "list jobs, newest first")
    listing.add_argument("--queue", metavar="NAME", help="only jobs of this queue")
    listing.add_argument("--state", choices=STATES, help="only jobs in this state")
    listing.add_argument("--limit", type=int, metavar="N", help="most jobs, 1 to 200 (default: 50)")
    listing.add_argument("--cursor", help="continue a list where it ended")
    _add_common(listing)
    for name, run, does in (
        ("retry", retry, "try jobs again now that were given up"),
        ("discard", discard, "discard jobs that were given up: they are not done"),
    ):
        command = commands.add(name, run, does)
        command.epilog = f"Ends with 1 when one of the ids is of no job that was given up. {EXIT_CODES}"
        command.add_argument("queue", metavar="QUEUE", help="the queue of the jobs")
        command.add_argument("ids", nargs="+", metavar="ID", help="their ids, as the list shows them")
        _add_common(command)


def _add_common(command: argparse.ArgumentParser) -> None:
    command.add_argument("--tenant", metavar="ID", help="only jobs of this tenant (default: of all)")
    json_flag(command)


def list_jobs(options: argparse.Namespace) -> int:
    """Print a page of jobs, one a line."""
    return run_request(options, _list, _show_jobs, admin=True)


def retry(options: argparse.Namespace) -> int:
    """Have jobs tried again; the exit code says whether all of them had been given up."""
    return run_request(options, _retry, _show_decided, admin=True)


def discard(options: argparse.Namespace) -> int:
    """Have jobs discarded; the exit code says whether all of them had been given up."""
    return run_request(options, _discard, _show_decided, admin=True)


async def _list(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    asked = {
        "queue": options.queue, "state": options.state, "tenant_id": options.tenant, "limit": options.limit,
        "cursor": options.cursor,
    }  # fmt: skip
    return await service.ask(admin_get(JOBS, asked))


async def _retry(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await service.ask(admin_post(f"{JOBS}/retry", _body(options)))


async def _discard(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await service.ask(admin_post(f"{JOBS}/discard", _body(options)))


def _body(options: argparse.Namespace) -> dict[str, Any]:
    return {"queue": options.queue, "ids": options.ids, "tenant_id": options.tenant}


def _show_jobs(body: dict[str, Any]) -> None:
    if body["items"]:
        print_columns([[job[name] for name in FIELDS] for job in body["items"]])
    say_more(body)


def _show_decided(body: dict[str, Any]) -> None:
    print_columns([(name, count) for name, count in body.items() if name != "not_given_up"])
    if body["not_given_up"]:
        raise Refused(f"this queue has given up no such job: {', '.join(body['not_given_up'])}")
