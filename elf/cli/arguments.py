"""The arguments of every command."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from elf.cli import (
    check,
    collect,
    events,
    filters,
    history,
    importing,
    index,
    mcp_clients,
    mcp_install,
    notes,
    status,
    traces,
    up,
)
from elf.config.model import NOTE_TYPES

EXIT_CODES = (
    "exit codes: 0 done, 1 the service rejected something, 2 wrong usage or config, "
    "3 the service cannot be reached or is not available"
)


def parser() -> argparse.ArgumentParser:
    """Build the parser; each command sets `run`, a function of the parsed options that returns the exit code."""
    root = argparse.ArgumentParser(
        prog="elf", description="ELF: evidence-linked fact memory for agents.", epilog=EXIT_CODES
    )
    root.add_argument("--version", action=_Version, nargs=0, help="show the version and exit")
    commands = root.add_subparsers(title="commands", metavar="COMMAND", required=True)

    def command(name: str, run: Callable[[argparse.Namespace], int], does: str) -> argparse.ArgumentParser:
        added = commands.add_parser(
            name, help=does, description=f"{does[0].upper()}{does[1:]}.", epilog=EXIT_CODES
        )
        added.add_argument("-c", "--config", type=Path, required=True, metavar="FILE", help="the config file")
        added.set_defaults(run=run)
        return added

    command("up", up.run, "run the service until it is told to stop")
    _json(command("check", check.run, "check a config file and say every fault of it"))
    _json(command("status", status.run, "say whether the service is ready, and the state of each part"))
    _add(command("add", notes.add, "write one note"))
    _add_event(command("add-event", events.add_event, "keep what is worth it of a conversation's messages"))
    _search(command("search", notes.search, "find notes by meaning and by words"))
    _explain(command("explain", traces.explain, "say why a result of a search is where it is"))
    _traces(
        command("traces", traces.traces, "list the searches of an agent, newest first, or show one of them")
    )
    _get(command("get", notes.get, "show one note"))
    _list(command("list", notes.list_notes, "list notes, newest first"))
    _history(command("history", history.history, "show the versions of a note, newest first"))
    _restore(command("restore", history.restore, "make a version of a note the note again"))
    _import(command("import", importing.run, "write the notes of a file, one JSON object a line"))
    _json(command("gc", collect.run, "expire and purge notes and clean up now, not only once a day"))
    _json(command("rebuild", index.rebuild, "write the search index anew from what Postgres holds"))
    _drift(command("drift", index.drift, "compare the search index with Postgres, and mend what differs"))
    mcp = commands.add_parser("mcp", help="set up programs that speak MCP", epilog=EXIT_CODES)
    commands = mcp.add_subparsers(title="commands", metavar="COMMAND", required=True)
    _mcp_install(command("install", mcp_install.run, "tell a program that speaks MCP how to start elf-mcp"))
    return root


def _mcp_install(command: argparse.ArgumentParser) -> None:
    command.add_argument("--client", required=True, choices=mcp_clients.CLIENTS, help="which program")
    command.add_argument("--print", action="store_true", help="print the entry, and write nothing")


def _drift(command: argparse.ArgumentParser) -> None:
    command.epilog = f"Ends with 1 when there is drift that is not mended. {EXIT_CODES}"
    command.add_argument("--repair", action="store_true", help="mend what differs")
    command.add_argument(
        "--examples", type=int, metavar="N", help="most examples of each kind, 0 to 100 (default: 10)"
    )
    _json(command)


def _add(command: argparse.ArgumentParser) -> None:
    _context(command)
    _scope(command, "default: that of [defaults], else the first of scopes.allowed")
    _note_defaults(command)
    command.add_argument("--key", help="a stable name: a later note with the same key replaces this one")
    command.add_argument(
        "--ttl-days", type=_number, metavar="DAYS", help="days to live (default: that of the type)"
    )
    command.add_argument(
        "--source-ref",
        type=_json_object,
        default={},
        metavar="JSON",
        help="an object that says where it comes from",
    )
    command.add_argument("text", metavar="TEXT", help="one English sentence")
    _json(command)


def _add_event(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "FILE holds a JSON list of messages, an object with such a list as messages, or one message a line. A message "
        'is {"role": "user|assistant|tool", "content": "...", "ts": "...", "msg_id": "..."}; ts and msg_id may be left '
        "out. " + EXIT_CODES
    )
    _context(command)
    _scope(command, "default: that of add")
    command.add_argument("--dry-run", action="store_true", help="say what would be stored, and store nothing")
    command.add_argument("file", type=Path, metavar="FILE", help="the messages; - reads standard input")
    _json(command)


def _search(command: argparse.ArgumentParser) -> None:
    _context(command)
    command.add_argument(
        "--profile",
        help="the read profile (default: that of [defaults], else the widest)",
    )
    command.add_argument("--top-k", type=int, metavar="N", help="most results (default: memory.top_k)")
    filters.add_to(command)
    command.add_argument("query", metavar="QUERY")
    _json(command)


def _explain(command: argparse.ArgumentParser) -> None:
    _optional_context(command)
    command.add_argument(
        "handle", metavar="RESULT_HANDLE", help="the result's handle, as search and traces show it"
    )
    _json(command)


def _traces(command: argparse.ArgumentParser) -> None:
    _context(command)
    command.add_argument("--limit", type=int, metavar="N", help="most searches, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a list where it ended")
    command.add_argument("id", nargs="?", metavar="TRACE_ID", help="show this search whole")
    _json(command)


def _get(command: argparse.ArgumentParser) -> None:
    _optional_context(command)
    command.add_argument("id", metavar="ID", help="the note's id")
    _json(command)


def _history(command: argparse.ArgumentParser) -> None:
    _get(command)
    command.add_argument("--limit", type=int, metavar="N", help="most versions, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a history where it ended")


def _restore(command: argparse.ArgumentParser) -> None:
    _context(command)
    command.add_argument("--version", metavar="ID", help="the version (default: the last that was active)")
    command.add_argument("id", metavar="ID", help="the note's id")
    _json(command)


def _list(command: argparse.ArgumentParser) -> None:
    _context(command)
    _scope(command, "default: that of [defaults], else the first of scopes.allowed, where add writes")
    command.add_argument("--shared", action="store_true", help="every scope but agent_private")
    command.add_argument("--type", choices=NOTE_TYPES)
    command.add_argument("--status", help="such as active (default), deleted or expired")
    filters.add_key_and_period(command)
    command.add_argument("--limit", type=int, metavar="N", help="most notes, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a list where it ended")
    _json(command)


def _import(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "A line is a note as the API takes it; type, importance and confidence may be left out and come from the "
        "flags. Its own tenant_id, project_id, agent_id and scope win over the flags. Importing a file again is safe. "
        + EXIT_CODES
    )
    _context(command)
    _scope(command, "default: that of [defaults], else the first of scopes.allowed")
    _note_defaults(command)
    command.add_argument(
        "--errors", type=Path, metavar="FILE", help="write rejected lines and why to this file"
    )
    command.add_argument(
        "--patience", type=_number, default=60.0, metavar="SECONDS",
        help="how long to try again while the service is away (default: 60)",
    )  # fmt: skip
    command.add_argument("file", type=Path, metavar="FILE.jsonl")
    _json(command)


def _context(command: argparse.ArgumentParser) -> None:
    for name in ("tenant", "project", "agent"):
        command.add_argument(f"--{name}", metavar="ID", help="(default: that of [defaults])")


def _optional_context(command: argparse.ArgumentParser) -> None:
    group = command.add_argument_group(
        "context", "without any of these: that of [defaults], then the id alone"
    )
    for name in ("tenant", "project", "agent"):
        group.add_argument(f"--{name}", metavar="ID")


def _scope(command: argparse.ArgumentParser, default: str) -> None:
    command.add_argument("--scope", help=f"({default})")


def _note_defaults(command: argparse.ArgumentParser) -> None:
    command.add_argument("--type", default="fact", help=f"one of {', '.join(NOTE_TYPES)} (default: fact)")
    for name, default in (("importance", 0.5), ("confidence", 0.8)):
        command.add_argument(
            f"--{name}", type=_number, default=default, metavar="0..1", help=f"(default: {default})"
        )


def _json(command: argparse.ArgumentParser) -> None:
    command.add_argument("--json", action="store_true", help="print the service's answer as it is")


def _number(text: str) -> float:
    number = float(text)
    if not math.isfinite(number):
        raise ValueError(text)
    return number


_number.__name__ = "number"  # argparse names the function in its message


def _json_object(text: str) -> dict[str, Any]:
    value = json.loads(text)
    if not isinstance(value, dict):
        raise ValueError(text)
    return value


_json_object.__name__ = "JSON object"


class _Version(argparse.Action):
    """Shows the version of the installed distribution, which is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(message=f"elf {importlib.metadata.version('elf-memory')}\n")
