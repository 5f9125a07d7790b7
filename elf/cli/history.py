"""`elf history` and `elf restore`: what a note was, and making it that again."""

from __future__ import annotations

import argparse
import sys
from datetime import datetime
from typing import Any

from elf.cli.client import Reply, Service
from elf.cli.ids import whole_id
from elf.cli.notes import ask_by_id, calls, run_request, show_results
from elf.cli.terminal import terminal
from elf.cli.text import print_columns
from elf.client.call import Call
from elf.client.calls import Calls
from elf.client.results import NoteVersion, Page
from elf.config import Config


def history(options: argparse.Namespace) -> int:
    return run_request(options, _history, _show_versions)


def restore(options: argparse.Namespace) -> int:
    return run_request(options, _restore, lambda body: show_results([body]))


async def _history(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    def pages(within: Calls, note_id: str) -> Call[Page[NoteVersion]]:
        return within.history(note_id, limit=options.limit).at(options.cursor)

    return await ask_by_id(service, options, options.id, pages)


async def _restore(service: Service, config: Config, options: argparse.Namespace) -> Reply:
    within = calls(options)
    note_id = await whole_id(service, within, options.id, kind="note")
    version = options.version and await whole_id(service, within, options.version, kind="version")
    return await service.ask(within.restore(note_id, version_id=version))


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
    rows = sorted([*versions, *repeated], key=lambda row: datetime.fromisoformat(str(row[1])), reverse=True)
    if (console := terminal()) is not None:
        from elf.cli.screens.notes import versions as table

        console.print(table(rows))
    else:
        print_columns(rows)
    if body["next_cursor"]:
        print(f"elf: there are more; continue with --cursor {body['next_cursor']}", file=sys.stderr)
    elif body["dropped_before"]:
        print(f"elf: versions before {body['dropped_before']} are not kept any more", file=sys.stderr)


def _text_of(version: dict[str, Any]) -> str:
    return (version["new_snapshot"] or version["prev_snapshot"])["text"] or "(purged)"
