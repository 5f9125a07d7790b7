"""The command line that all sets share, and what a run does: store the chats, wait, ask, print, write the results."""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from elf.client import Client
from elf.core.logs import configure_logging
from ops.eval import recalls, refusals
from ops.eval.chats import Chat
from ops.eval.latencies import Latencies
from ops.eval.service import service_of

AGENT = "evaluation"


def command(description: str | None) -> argparse.ArgumentParser:
    """Return a parser of what all sets have in common."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", default="http://127.0.0.1:8765", help="where the service listens")
    where.add_argument(
        "--local", metavar="CONFIG", type=Path,
        help="start a service with a copy of this config, for the evaluation only",
    )  # fmt: skip
    parser.add_argument(
        "--admin-url", default="http://127.0.0.1:8767", help="where the admin endpoints of --url listen"
    )
    parser.add_argument(
        "--elf",
        metavar="FILE",
        type=Path,
        help="with --local: the command elf of another checkout or version",
    )
    parser.add_argument(
        "--nothing-relevant", action="store_true",
        help="ask questions that nothing answers, too, and print how many answers are weak_match",
    )  # fmt: skip
    parser.add_argument(
        "--results", metavar="FOLDER", type=Path, help="where to write what came of each question"
    )
    parser.add_argument("--tenant", default=f"evaluation-{int(time.time())}", help="a fresh one by default")
    parser.add_argument(
        "--wait", type=float, default=120.0, help="longest wait in seconds for one more note to be indexed"
    )
    return parser


def run(name: str, chats: Sequence[Chat], options: argparse.Namespace, *, note_chars: int) -> None:
    """Evaluate a service on the set of this name; its notes have up to `note_chars` characters."""
    if options.elf and not options.local:
        raise SystemExit("--elf: it needs the config for it, --local")
    configure_logging("warning", form="auto")
    latencies = Latencies()
    with service_of(options, note_chars=note_chars) as service:
        memory = service.api.within(
            tenant_id=options.tenant,
            agent_id=AGENT,
            scope="project_shared",
            read_profile="private_plus_project",
        )
        for chat in chats:
            store(memory.within(project_id=chat.name), latencies, chat)
        service.wait_until_indexed(options.wait)
        if options.nothing_relevant:
            refusals.evaluate(name, memory, chats, results=options.results)
        else:
            recalls.evaluate(name, memory, chats, latencies, results=options.results)


def store(memory: Client, latencies: Latencies, chat: Chat) -> None:
    """Store the notes in their order, one a request; tells of those that are rejected."""
    for note in chat.notes:
        with latencies.timed("add_note"):
            (result,) = memory.add_notes([note])
        if result.op == "REJECTED":
            print(f"  {chat.name} {note.key} rejected: {result.reason_code}", file=sys.stderr)
    print(f"{chat.name}: {len(chat.notes)} notes stored", file=sys.stderr)
