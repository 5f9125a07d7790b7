"""`elf gc`: collect garbage now."""

from __future__ import annotations

import argparse
import sys
from typing import Any

from elf.cli.client import Reply, Service, admin_post
from elf.cli.notes import run_request
from elf.cli.outcome import Refused
from elf.cli.text import print_columns
from elf.config import Config


def run(options: argparse.Namespace) -> int:
    """Ask the admin address, which only this machine reaches."""
    return run_request(options, _collect, _show_counts, admin=True)


async def _collect(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await service.ask(admin_post("/v1/admin/gc"))


def _show_counts(body: dict[str, Any]) -> None:
    if not body["ran"]:
        print("elf: another process is collecting already", file=sys.stderr)
        return
    print_columns(body["counts"].items())
    if body["failed"]:
        raise Refused("; ".join(f"{step} failed: {reason}" for step, reason in body["failed"].items()))
