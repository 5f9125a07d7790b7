"""`elf assistant`: how its answers look, and the commands that are more than a call."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import Any, Final

from elf.cli.families.own_commands import OwnCommands
from elf.cli.families.transfer import Transfer
from elf.cli.notes import say_more
from elf.cli.text import plain, print_columns
from elf.client.families.assistant import AssistantClient


def show_answer(body: Mapping[str, Any]) -> None:
    """Print what changed, what comes whole, what was found, and what is related to it: as an agent reads it."""
    for degraded in body["degraded"]:
        print(f"elf: answered without {plain(degraded)}", file=sys.stderr)
    for warning in body["warnings"]:
        print(f"elf: {plain(warning)}", file=sys.stderr)
    delta = body["delta"]
    lines = [] if delta is None else delta["text"].splitlines()
    lines += [one["text"] for part in ("context", "items", "related") for one in body[part]]
    if not lines:
        print("elf: nothing is known", file=sys.stderr)
    for line in lines:
        print(plain(line))


def show_memories(body: Mapping[str, Any]) -> None:
    """Print memories, one a line."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [one["id"], one["category"], one["type"], f"imp={one['importance']}", one["text"]]
        for one in body["items"]
    )
    if body["next_cursor"]:
        say_more({"next_cursor": body["next_cursor"]})


def show_text(body: Mapping[str, Any]) -> None:
    """Print what a file says, or what the memory tool would answer, line by line."""
    for line in body["text"].removesuffix("\n").split("\n"):
        print(plain(line))
    if body.get("redacted"):
        print("elf: a credential was blanked", file=sys.stderr)


def show_found(body: Mapping[str, Any]) -> None:
    """Print the lines that were found in files, one a line."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [file["path"], line["number"], line["text"]] for file in body["items"] for line in file["lines"]
    )


OF_FILES: Final = (
    "view_file", "create_file", "replace_in_file", "insert_into_file", "delete_file", "rename_file", "read_file",
)  # fmt: skip
TRANSFER: Final = Transfer(
    client=AssistantClient,
    what="what is remembered of a user, or of all users of the tenant,",
    whom="for the user that is named, or whosever it was",
    not_carried="vectors are made anew where it is imported; elf.langgraph.migrate moves what graphs keep",
    context=["tenant"],
    flags={"user_id": "the user (default: all)"},
)

ASSISTANT: Final = OwnCommands(
    shown={
        "query": show_answer,
        "list": show_memories,
        "search_files": show_found,
        **dict.fromkeys(OF_FILES, show_text),
    },
    replaced=frozenset({"export", "take_in"}),
    add=TRANSFER.add,
)
