"""`elf graph`: how its answers look, and the commands that are more than a call."""

from __future__ import annotations

import sys
from collections.abc import Iterable, Mapping
from typing import Any, Final

from elf.cli.families.own_commands import OwnCommands
from elf.cli.families.transfer import Transfer
from elf.cli.notes import say_more
from elf.cli.text import plain, print_columns
from elf.client.families.graph import GraphClient


def show_recall(body: Mapping[str, Any]) -> None:
    """Print what was found, best first, and the edges around it."""
    _say_degraded(body)
    if not body["nodes"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [
            f"{one['finalScore']:.4f}", one["memory"]["type"], one["memory"]["memoryId"],
            "contradicted" if one["unresolvedContradiction"] else "",
            one["snippet"] or one["memory"]["summary"],
        ]
        for one in body["nodes"]
    )  # fmt: skip
    _print_edges(body["edges"])


def show_context(body: Mapping[str, Any]) -> None:
    """Print the text of a bulletin."""
    _say_degraded(body)
    if body["status"] != "ok":
        print(f"elf: {body['status']}: it could not be made anew", file=sys.stderr)
    if body["bulletin"] is not None:
        print("\n".join(map(plain, body["bulletin"]["rendered"].splitlines())))


def show_memories(body: Mapping[str, Any]) -> None:
    """Print memories, one a line."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [one["memoryId"], one["type"], one["status"], one["importance"], one["summary"]]
        for one in body["items"]
    )
    if body["next_cursor"]:
        say_more({"next_cursor": body["next_cursor"]})


def show_memory(body: Mapping[str, Any]) -> None:
    """Print a memory, a field a line; what does not apply is left out."""
    memory = dict(body["memory"])
    source = memory.pop("source")
    print_columns((name, value) for name, value in (memory | source).items() if value is not None)


def show_recovered(body: Mapping[str, Any]) -> None:
    """Print what was put aside and what was taken in again, one a line."""
    if body["was_lost"]:
        print("elf: memory.db was lost, and an empty one was begun", file=sys.stderr)
    elif not body["put_aside"]:
        print("elf: the memory is sound", file=sys.stderr)
    rows = [["put aside", name] for name in body["put_aside"]]
    for what, counts in (("kept", body["kept"]), ("not kept", body["lost"])):
        rows += [[what, f"{count} {kind}"] for kind, count in counts.items()]
    for one in body["files"]:
        error = one["error"]
        rows.append(
            ["taken in", f"{one['sourcePath']}: {one['memoriesWritten']} memories"]
            if error is None
            else ["not taken in", f"{one['sourcePath']}: {error['code']}: {error['message']}"]
        )
    print_columns(rows)


def _print_edges(edges: Iterable[Mapping[str, Any]]) -> None:
    print_columns([one["fromMemoryId"], one["edgeType"], one["toMemoryId"], one["edgeId"]] for one in edges)


def _say_degraded(body: Mapping[str, Any]) -> None:
    if body["degraded"]:
        print(f"elf: answered without {', '.join(map(plain, body['degraded']))}", file=sys.stderr)


TRANSFER: Final = Transfer(
    client=GraphClient,
    what="all of a memory",
    whom="for the orchestrator that is named",
    not_carried="vectors are made anew where it is imported; files and bulletins stay where they are",
    context=["tenant", "agent"],
)

GRAPH: Final = OwnCommands(
    shown={
        "recall": show_recall,
        "bulletin": show_context,
        "list": show_memories,
        "show": show_memory,
        "share": show_memory,
        "recover": show_recovered,
    },
    replaced=frozenset({"export", "take_in"}),
    add=TRANSFER.add,
)
