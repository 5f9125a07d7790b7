"""`elf admin audit`: who called which operation of the admin server, about what, and the outcome."""

from __future__ import annotations

import argparse
from typing import Any, Final

from elf.cli.client import Reply, Service, admin_get
from elf.cli.flags import json_flag
from elf.cli.notes import run_request, say_more
from elf.cli.text import print_columns
from elf.config import Config

PATH: Final = "/v1/admin/audit"
FIELDS: Final = (
    "called_at",
    "operation",
    "user",
    "client",
    "role",
    "tenant_id",
    "subject",
    "items",
    "outcome",
)


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add the arguments of `elf admin audit`."""
    command.add_argument("--tenant", metavar="ID", help="only calls of this tenant (default: of all)")
    command.add_argument("--caller", metavar="NAME", help="only calls of this user, or of this client")
    command.add_argument(
        "--operation", metavar="NAME", help="only calls of this operation, such as export_memory"
    )
    command.add_argument(
        "--subject", metavar="ID", help="only calls about this user, agent, conversation or other id"
    )
    command.add_argument("--since", metavar="TIME", help="only calls from this time on, such as 2026-01-31")
    command.add_argument("--until", metavar="TIME", help="only calls before this time")
    command.add_argument("--limit", type=int, metavar="N", help="most calls, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a list where it ended")
    json_flag(command)


def audit(options: argparse.Namespace) -> int:
    """Print a page of calls, one a line, newest first."""
    return run_request(options, _list, _show, admin=True)


async def _list(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    asked = {
        "tenant_id": options.tenant, "caller": options.caller, "operation": options.operation,
        "subject": options.subject, "since": options.since, "until": options.until, "limit": options.limit,
        "cursor": options.cursor,
    }  # fmt: skip
    return await service.ask(admin_get(PATH, asked))


def _show(body: dict[str, Any]) -> None:
    if body["items"]:
        print_columns([[_cell(call[name]) for name in FIELDS] for call in body["items"]])
    say_more(body)


def _cell(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    shown = ((name, ",".join(one) if isinstance(one, list) else one) for name, one in value.items())
    return " ".join(f"{name}={one}" for name, one in shown)
