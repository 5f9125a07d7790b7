"""`elf erase`: all of a user, an agent or a tenant, for good; proving that it is gone; and rewriting files."""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import anyio

from elf.cli.client import Service
from elf.cli.commands import EXIT_CODES
from elf.cli.flags import json_flag
from elf.cli.notes import configured
from elf.cli.outcome import ExitCode, Refused, UsageError
from elf.cli.text import plain, print_columns, print_json
from elf.client.call import Call
from elf.client.families.memories import MemoriesClient
from elf.client.family import methods_of


def add_arguments(command: argparse.ArgumentParser) -> None:
    """Add what the command takes."""
    command.epilog = (
        "Says whose it is, and asks. Stopped midway, erase again: it goes on, and ends with a receipt. With --prove it "
        "erases nothing, and ends with 1 when the receipt is not true; with --compact it rewrites the files of a "
        "service that is stopped. Works through the admin address, which only the service's machine reaches. "
        f"{EXIT_CODES}"
    )
    command.add_argument("--tenant", metavar="ID", help="(default: that of [defaults])")
    whose = command.add_mutually_exclusive_group()
    whose.add_argument("--user", metavar="ID", help="all of this user of the tenant")
    whose.add_argument("--agent", metavar="ID", help="all of this agent of the tenant")
    whose.add_argument("--all", action="store_true", help="all of the tenant, which --tenant has to name")
    command.add_argument("--receipt", type=Path, metavar="FILE", help="write the receipt to this file, too")
    what = command.add_mutually_exclusive_group()
    what.add_argument(
        "--prove", type=Path, metavar="RECEIPT", help="check a receipt, and search for what should be gone"
    )
    what.add_argument(
        "--compact",
        action="store_true",
        help="rewrite the files of the stopped service, so that no byte of what was erased is left in them",
    )
    command.add_argument(
        "--text", action="append", default=[], metavar="WORDS", help="with --prove: words to search for, too"
    )
    command.add_argument("--yes", action="store_true", help="do not ask")
    json_flag(command)


def run(options: argparse.Namespace) -> int:
    """Erase, prove or compact."""
    if options.compact:
        return _compact(options)
    if not (options.user or options.agent or (options.all and options.tenant)):
        raise UsageError("say whose memory: --user ID, --agent ID, or --all with --tenant ID")
    return _erase(options) if options.prove is None else _prove(options)


def _erase(options: argparse.Namespace) -> int:
    if not options.yes:
        _ask(options)
    receipt = _asked(options, "erase")
    if options.receipt is not None:
        _write(options.receipt, receipt)
    if options.json:
        print_json(receipt)
    else:
        print_columns(
            [family, kind, count]
            for family, counts in receipt["erased"].items()
            for kind, count in counts.items()
            if count
        )
        print(f"receipt {receipt['receipt_id']}")
        for one in receipt["out_of_reach"]:
            print(f"elf: out of reach: {plain(one)}", file=sys.stderr)
    return ExitCode.DONE


def _ask(options: argparse.Namespace) -> None:
    if not sys.stdin.isatty():
        raise UsageError("erase asks before it erases, and here is nobody to ask: say --yes")
    whose = (
        f"user {options.user}" if options.user else f"agent {options.agent}" if options.agent else "everybody"
    )
    named = _tenant(options)
    tenant = "the tenant of the key" if named is None else f"tenant {plain(named)}"
    question = f"elf: erase all of {plain(whose)} of {tenant} for good? [y/N] "
    print(question, end="", file=sys.stderr, flush=True)
    if sys.stdin.readline().strip().lower() not in ("y", "yes"):
        raise Refused("nothing was erased")


def _prove(options: argparse.Namespace) -> int:
    proof = _asked(options, "prove", _read(options.prove), texts=options.text)
    if options.json:
        print_json(proof)
    else:
        said = {True: "yes", False: "NO"}
        print_columns(
            [
                ["signed here", said[proof["signed_here"]]],
                ["of whom it is said to be", said[proof["is_of_subject"]]],
                ["columns searched", proof["columns"]],
                *([f"points of {name}", count] for name, count in proof["points"].items()),
                *(["FOUND", f"{one['place']}: {one['count']}"] for one in proof["found"]),
                ["proven", said[proof["proven"]]],
            ]
        )
    return ExitCode.DONE if proof["proven"] else ExitCode.REJECTED


def _tenant(options: argparse.Namespace) -> str | None:
    """Return the tenant of the flags, else that of [defaults]; None where the caller's key says it."""
    return options.tenant or (None if "tenant_id" in options.bound else options.defaults.ids()["tenant_id"])


def _asked(options: argparse.Namespace, method: str, *arguments: object, **more: object) -> Mapping[str, Any]:
    config = configured(options)

    async def ask() -> Mapping[str, Any]:
        async with Service(config, options, admin=True) as service:
            family = MemoriesClient(service.client.within(tenant_id=_tenant(options)))
            call: Call[Any] = methods_of(MemoriesClient)[method].build(
                family,
                *arguments,
                user_id=options.user,
                agent_id=options.agent,
                everything=options.all or None,
                **more,
            )
            body: Mapping[str, Any] = (await service.ask_any(call)).check().body
            return body

    return anyio.run(ask)


def _compact(options: argparse.Namespace) -> int:
    config = configured(options)
    # As `elf up`: the service's code is loaded by this alone.
    from actors.processes.compacting import run as compact

    compact(config, lambda said: print(f"elf: {said}", file=sys.stderr))
    return ExitCode.DONE


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise UsageError(f"{path} cannot be read: {error.strerror}") from error
    except ValueError as error:
        raise UsageError(f"{path} is no receipt: it is no JSON") from error


def _write(path: Path, receipt: Mapping[str, Any]) -> None:
    try:
        path.write_text(json.dumps(receipt, indent=2) + "\n", encoding="utf-8")
    except OSError as error:
        print_json(receipt)
        raise UsageError(f"{path} cannot be written: {error.strerror}; the receipt is above") from error
