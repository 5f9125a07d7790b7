"""The arguments of every command."""

from __future__ import annotations

import argparse
import importlib.metadata
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from typing import Any

from elf.cli import (
    audit,
    changes,
    check,
    collect,
    completion,
    erasing,
    events,
    exporting,
    filters,
    forget,
    history,
    importing,
    index,
    init,
    jobs,
    keys,
    mcp_clients,
    mcp_install,
    model,
    notes,
    status,
    traces,
    up,
)
from elf.cli.commands import EXIT_CODES, Commands, Parser
from elf.cli.config_file import NAME
from elf.cli.family import add_family
from elf.cli.flags import context, json_flag, json_object, note_defaults, number, optional_context, scope
from elf.client.families import FAMILY_CLIENTS
from elf.client.family import FamilyClient
from elf.config.model import NOTE_TYPES

BEGINNING = "or how it begins: 8 hex digits or more"
NOTE_ID = f"the note's id, {BEGINNING}"
CONFIGS = (
    "Without -c FILE the config is elf.toml in this folder; without that, the default config of the installation. "
    "Folders in a config are relative to the file; the default config of an installed package keeps its data in "
    ".elf in your home folder, that of a checkout in .elf of the checkout."
)


def parser(families: Sequence[type[FamilyClient[Any]]] = FAMILY_CLIENTS) -> Parser:
    """Build the parser; each command sets `run`, a function of the parsed options that returns the exit code.

    The commands of notes are its own; those of `families` are below the name of each.
    """
    root = Parser(
        prog="elf",
        description="ELF: evidence-linked fact memory for agents.",
        epilog=f"{CONFIGS} {EXIT_CODES}",
    )
    root.add_argument("-V", "--version", action=_Version, nargs=0, help="show the version and exit")
    commands = Commands(root)
    command = commands.add
    _init(command("init", init.run, "write a config file, commented, to begin with", needs="nothing"))
    up.add_arguments(command("up", up.run, "run the service until it is told to stop", needs="config"))
    json_flag(command("check", check.run, "check a config file and say every fault of it", needs="config"))
    _status(command("status", status.run, "say whether the service is ready, and how much it holds"))
    _add(command("add", notes.add, "write one note"))
    _add_event(command("add-event", events.add_event, "keep what is worth it of a conversation's messages"))
    _search(command("search", notes.search, "find notes by meaning and by words"))
    _explain(command("explain", traces.explain, "say why a result of a search is where it is"))
    _traces(
        command("traces", traces.traces, "list the searches of an agent, newest first, or show one of them")
    )
    _get(command("get", notes.get, "show one note"))
    _update(command("update", changes.update, "change a note in place"))
    _delete(command("delete", changes.delete, "delete a note"))
    _list(command("list", notes.list_notes, "list notes, newest first"))
    _history(command("history", history.history, "show the versions of a note, newest first"))
    _restore(command("restore", history.restore, "make a version of a note the note again"))
    _import(command("import", importing.run, "write the notes of a file, one JSON object a line"))
    _export(
        command(
            "export",
            exporting.run,
            "write the notes that an agent may read to a file, one JSON object a line",
        )
    )
    _forget(command("forget", forget.run, "delete all notes of a project, or of one agent in it"))
    erasing.add_arguments(
        command("erase", erasing.run, "erase all of a user, an agent or a tenant for good, over all families")
    )
    json_flag(command("gc", collect.run, "expire and purge notes and clean up now, not only once a day"))
    json_flag(command("rebuild", index.rebuild, "write the search index anew from what Postgres holds"))
    _drift(command("drift", index.drift, "compare the search index with Postgres, and mend what differs"))
    _completion(
        command("completion", completion.run, "print what makes a shell complete commands", needs="nothing")
    )
    with_tools = ["notes", *(family.name for family in families)]
    commands.group("mcp", "set up programs that speak MCP", partial(_mcp, families=with_tools))
    commands.group("model", "list and fetch the models that run in the service's process", _model)
    commands.group("key", "make keys for programs that call the service", _key)
    commands.group("admin", "jobs that were given up, and the audit log", _admin)
    for family in families:
        commands.group(family.name, family.about, partial(add_family, family))
    return root


def _mcp(commands: Commands, families: Sequence[str]) -> None:
    does = "tell a program that speaks MCP how to start elf-mcp"
    _mcp_install(commands.add("install", mcp_install.run, does, needs="config"), families)


def _model(commands: Commands) -> None:
    json_flag(commands.add("list", model.list_models, "list the local models", needs="config"))
    model.add_fetch_arguments(
        commands.add("fetch", model.fetch, "fetch a model before it is first used", needs="config")
    )


def _key(commands: Commands) -> None:
    does = "make a key, and the table of a config that lists it"
    keys.add_arguments(commands.add("new", keys.new, does, needs="nothing"))


def _admin(commands: Commands) -> None:
    commands.group(
        "jobs", "jobs of all queues: list them, retry or discard those given up", jobs.add_commands
    )
    audit.add_arguments(
        commands.add("audit", audit.audit, "list who called the admin server, about what, and the outcome")
    )


def _init(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "file", type=Path, nargs="?", default=Path(NAME), metavar="FILE", help=f"(default: {NAME})"
    )
    command.add_argument(
        "--public",
        action="store_true",
        help="have the service listen at every address of this machine and ask who calls; prints a first key",
    )


def _mcp_install(command: argparse.ArgumentParser, families: Sequence[str]) -> None:
    command.add_argument("--client", required=True, choices=mcp_clients.CLIENTS, help="which program")
    command.add_argument(
        "--family",
        choices=families,
        default=mcp_install.MEMORY,
        help="whose tools (default: %(default)s, which asks all families at once)",
    )
    command.add_argument("--print", action="store_true", help="print the entry, and write nothing")


def _drift(command: argparse.ArgumentParser) -> None:
    command.epilog = f"Ends with 1 when there is drift that is not mended. {EXIT_CODES}"
    command.add_argument("--repair", action="store_true", help="mend what differs")
    command.add_argument(
        "--examples", type=int, metavar="N", help="most examples of each kind, 0 to 100 (default: 10)"
    )
    json_flag(command)


def _add(command: argparse.ArgumentParser) -> None:
    context(command)
    scope(command, "default: that of [defaults], else the first of scopes.allowed")
    note_defaults(command)
    command.add_argument("--key", help="a stable name: a later note with the same key replaces this one")
    command.add_argument(
        "--ttl-days", type=number, metavar="DAYS", help="days to live (default: that of the type)"
    )
    command.add_argument(
        "--source-ref",
        type=json_object,
        default={},
        metavar="JSON",
        help="an object that says where it comes from",
    )
    command.add_argument("text", metavar="TEXT", help="one English sentence")
    json_flag(command)


def _add_event(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "FILE holds a JSON list of messages, an object with such a list as messages, or one message a line. A message "
        'is {"role": "user|assistant|tool", "content": "...", "ts": "...", "msg_id": "..."}; ts and msg_id may be left '
        "out. " + EXIT_CODES
    )
    context(command)
    scope(command, "default: that of add")
    command.add_argument("--dry-run", action="store_true", help="say what would be stored, and store nothing")
    command.add_argument("file", type=Path, metavar="FILE", help="the messages; - reads standard input")
    json_flag(command)


def _search(command: argparse.ArgumentParser) -> None:
    context(command)
    command.add_argument(
        "--profile",
        help="the read profile (default: that of [defaults], else the widest)",
    )
    command.add_argument("--top-k", type=int, metavar="N", help="most results (default: memory.top_k)")
    command.add_argument(
        "--min-relevance",
        type=number,
        metavar="X",
        help="only results of this relevance or more (default: search.rerank.min_relevance)",
    )
    filters.add_to(command)
    command.add_argument("query", metavar="QUERY")
    json_flag(command)


def _explain(command: argparse.ArgumentParser) -> None:
    optional_context(command)
    command.add_argument(
        "handle",
        metavar="RESULT_HANDLE",
        help=f"the result's handle, as search and traces show it, {BEGINNING}",
    )
    json_flag(command)


def _traces(command: argparse.ArgumentParser) -> None:
    context(command)
    command.add_argument("--limit", type=int, metavar="N", help="most searches, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a list where it ended")
    command.add_argument(
        "id", nargs="?", metavar="TRACE_ID", help="show this search whole; its id may be short"
    )
    json_flag(command)


def _get(command: argparse.ArgumentParser) -> None:
    optional_context(command)
    command.add_argument("id", metavar="ID", help=NOTE_ID)
    json_flag(command)


def _history(command: argparse.ArgumentParser) -> None:
    _get(command)
    command.add_argument("--limit", type=int, metavar="N", help="most versions, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a history where it ended")


def _restore(command: argparse.ArgumentParser) -> None:
    context(command)
    command.add_argument("--version", metavar="ID", help="the version (default: the last that was active)")
    command.add_argument("id", metavar="ID", help=NOTE_ID)
    json_flag(command)


def _update(command: argparse.ArgumentParser) -> None:
    context(command)
    for name in ("importance", "confidence"):
        command.add_argument(f"--{name}", type=number, metavar="0..1")
    command.add_argument(
        "--ttl-days", type=number, metavar="DAYS", help="days to live from now on; 0: that of the type"
    )
    command.add_argument("id", metavar="ID", help=NOTE_ID)
    command.add_argument("--text", help="the new text")
    json_flag(command)


def _delete(command: argparse.ArgumentParser) -> None:
    command.epilog = f"`elf restore ID` makes it a note again, until it is purged. {EXIT_CODES}"
    context(command)
    command.add_argument("id", metavar="ID", help=NOTE_ID)
    json_flag(command)


def _list(command: argparse.ArgumentParser) -> None:
    context(command)
    which = command.add_mutually_exclusive_group()
    which.add_argument(
        "--scope", help="(default: all that the read profile of [defaults] reads, else the widest)"
    )
    which.add_argument("--shared", action="store_true", help="every scope but agent_private")
    command.add_argument("--type", choices=NOTE_TYPES)
    command.add_argument("--status", help="such as active (default), deleted or expired")
    filters.add_key_and_period(command)
    command.add_argument("--limit", type=int, metavar="N", help="most notes, 1 to 200 (default: 50)")
    command.add_argument("--cursor", help="continue a list where it ended")
    json_flag(command)


def _import(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "A line is a note as the API takes it; type, importance and confidence may be left out and come from the "
        "flags. Its own tenant_id, project_id, agent_id and scope win over the flags. An expires_at, as `elf export` "
        "writes it, takes the place of ttl_days. Importing a file again is safe. What `elf export --all` wrote goes "
        "back to all families as it was, through the admin address. " + EXIT_CODES
    )
    context(command)
    scope(command, "default: that of [defaults], else the first of scopes.allowed")
    note_defaults(command)
    command.add_argument(
        "--errors", type=Path, metavar="FILE", help="write rejected lines and why to this file"
    )
    command.add_argument(
        "--patience", type=number, default=60.0, metavar="SECONDS",
        help="how long to wait while the service is away (default: 60)",
    )  # fmt: skip
    command.add_argument("file", type=Path, metavar="FILE.jsonl")
    json_flag(command)


def _export(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        f"`elf import` makes the same notes of it. {exporting.NOT_CARRIED.capitalize()}. With --all, or --user, it is "
        f"what all families keep, with ids, times and history, which goes through the admin address. {EXIT_CODES}"
    )
    context(command)
    command.add_argument(
        "--all", action="store_true", help="all that all families keep of the tenant, or of --user or --agent"
    )
    command.add_argument("--user", metavar="ID", help="all that all families keep of this user")
    command.add_argument(
        "file",
        type=Path,
        nargs="?",
        default=exporting.STDOUT,
        metavar="FILE.jsonl",
        help="(default: standard output)",
    )


def _forget(command: argparse.ArgumentParser) -> None:
    command.epilog = (
        "Private notes are among them, without --agent those of every agent of the project. Says how many there are, "
        "and asks. They are deleted notes then, which `elf restore` brings back until they are purged. Give --project, "
        "--agent or both. "
        f"Works through the admin address, which only the service's machine reaches. {EXIT_CODES}"
    )
    command.add_argument("--tenant", metavar="ID", help="(default: that of [defaults])")
    command.add_argument("--project", metavar="ID", help="whose notes (default: that of [defaults])")
    command.add_argument("--agent", metavar="ID", help="only those that this agent wrote there")
    command.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(command)


def _status(command: argparse.ArgumentParser) -> None:
    command.add_argument(
        "--parts", action="store_true", help="show every part, not only those that are not ready"
    )
    json_flag(command)


def _completion(command: argparse.ArgumentParser) -> None:
    command.epilog = completion.HOW
    command.add_argument(
        "shell", choices=completion.SHELLS, metavar="SHELL", help=", ".join(completion.SHELLS)
    )


class _Version(argparse.Action):
    """Shows the version of the installed distribution, which is looked up only when it is asked for."""

    def __call__(self, parser: argparse.ArgumentParser, *_: object) -> None:
        parser.exit(message=f"elf {importlib.metadata.version('elf-memory')}\n")
