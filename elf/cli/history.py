"""`elf history` and `elf restore`: what a note was, and making it that again."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Any

from elf.cli.client import Reply, Service
from elf.cli.notes import calls, calls_if_named, run_request
from elf.cli.text import plain, print_columns
from elf.config import Config


def history(options: argparse.Namespace) -> int:
    return run_request(options, _history, _show_versions)


def restore(options: argparse.Namespace) -> int:
    return run_request(options, _restore, _show_restored)


async def _history(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    versions = calls_if_named(options).history(options.id, limit=options.limit)
    return await service.ask(versions.at(options.cursor))


async def _restore(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    return await service.ask(calls(options).restore(options.id, version_id=options.version))


def _show_versions(body: dict[str, Any]) -> None:
    versions = [
        [item["version_id"], item["ts"], item["op"], item["actor"], item["reason"], _text_of(item)]
        for item in body["items"]
    ]
    # What was said again changed nothing, so it has no version to restore.
    repeated = [
        [None, item["ts"], "NONE", item["actor"], f"similarity {item['similarity']:.4f}", item["text"]]
        for item in body.get("repetitions", ())
    ]
    print_columns(
        sorted([*versions, *repeated], key=lambda row: datetime.fromisoformat(str(row[1])), reverse=True)
    )
    if body["next_cursor"]:
        print(f"elf: there are more; continue with --cursor {body['next_cursor']}", file=sys.stderr)


def _text_of(version: dict[str, Any]) -> str:
    return (version["new_snapshot"] or version["prev_snapshot"])["text"] or "(purged)"


def _show_restored(body: dict[str, Any]) -> None:
    reasons = [plain(body[name]) for name in ("reason_code", "reason") if body.get(name)]
    print("  ".join([body["op"], plain(body["note_id"]), *reasons]))
