"""`elf memories`: how its answers look, and the commands that are more than a call."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from elf.cli.families.own_commands import OwnCommands
from elf.cli.families.transfer import Transfer
from elf.cli.text import plain, print_columns
from elf.client.families.memories import MemoriesClient


def show_recalled(body: Mapping[str, Any]) -> None:
    """Print what is known, one item a line, the best first: how relevant it is, when, its address, and its text."""
    _tell_what_is_missing(body)
    if not body["items"]:
        print("elf: nothing is known", file=sys.stderr)
        return
    print_columns(
        [
            "-" if one["relevance"] is None else f"{one['relevance']:.2f}",
            "-" if one["at"] is None else one["at"][:10],
            f"{one['family']}/{one['kind']}/{one['id']}",
            ", ".join(one["states"]) or "-",
            one["text"],
        ]
        for one in body["items"]
    )


def show_context(body: Mapping[str, Any]) -> None:
    """Print the text as a model is to have it, and below it which items its markers stand for."""
    _tell_what_is_missing(body)
    if not body["text"]:
        print("elf: nothing is known", file=sys.stderr)
        return
    for line in body["text"].split("\n"):
        print(plain(line))
    print()
    print_columns([one["marker"], f"{one['family']}/{one['kind']}/{one['id']}"] for one in body["citations"])


def _tell_what_is_missing(body: Mapping[str, Any]) -> None:
    for name in body["degraded"]:
        print(f"elf: answered without {plain(name)}", file=sys.stderr)
    for name, why in body["skipped"].items():
        print(f"elf: {plain(name)} does not take it: {plain(why)}", file=sys.stderr)


TRANSFER: Final = Transfer(
    client=MemoriesClient,
    what="all that all families keep of a user, an agent or the tenant",
    whom="for the tenant that each line names",
    not_carried="vectors are made anew where it is imported; elf.langgraph.migrate moves what graphs keep",
    context=["tenant"],
    export_flags={"user_id": "only this user", "agent_id": "only this agent"},
)

MEMORIES: Final = OwnCommands(
    shown={"recall": show_recalled, "context": show_context},
    replaced=frozenset({"export", "take_in"}),
    add=TRANSFER.add,
)
