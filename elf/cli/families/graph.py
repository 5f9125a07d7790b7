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
    _print_found(
        (
            one["finalScore"], one["memory"]["type"], one["memory"]["memoryId"], one["unresolvedContradiction"],
            one["snippet"] or one["memory"]["summary"],
        )
        for one in body["nodes"]
    )  # fmt: skip
    _print_edges(body["edges"])


def show_bulletin(body: Mapping[str, Any]) -> None:
    """Print the text of a bulletin."""
    _say_degraded(body)
    if body["status"] != "ok":
        print(f"elf: {body['status']}: it could not be made anew", file=sys.stderr)
    if body["bulletin"] is not None:
        print("\n".join(map(plain, body["bulletin"]["rendered"].splitlines())))


def show_context(body: Mapping[str, Any]) -> None:
    """Print the text of a bulletin, and what was found for a step or an investigation."""
    show_bulletin(body)
    if body["recall"] is not None:
        show_recall(body["recall"])
    if (findings := body["findings"]) is not None:
        _print_found(
            (one["finalScore"], one["type"], one["memoryId"], one["unresolvedContradiction"], one["text"])
            for one in findings["evidence"]
        )
        _print_edges(findings["edges"])


def show_memories(body: Mapping[str, Any]) -> None:
    """Print memories, one a line."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    _print_memories(body["items"])
    if body["next_cursor"]:
        say_more({"next_cursor": body["next_cursor"]})


def show_memory(body: Mapping[str, Any]) -> None:
    """Print a memory, a field a line; what does not apply is left out."""
    memory = dict(body["memory"])
    source = memory.pop("source")
    print_columns((name, value) for name, value in (memory | source).items() if value is not None)


def show_changed(body: Mapping[str, Any]) -> None:
    """Print memories as they are now, and the edges that are new or resolved, one a line."""
    _print_memories(body["memories"])
    _print_edges(body["edges"])


def show_edges(body: Mapping[str, Any]) -> None:
    """Print edges, one a line: what they say, and how a contradiction was resolved."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [*_edge(one["edge"]), one["edge"]["reason"], *_resolution(one["resolution"])] for one in body["items"]
    )
    if body["next_cursor"]:
        say_more({"next_cursor": body["next_cursor"]})


def show_contradictions(body: Mapping[str, Any]) -> None:
    """Print each contradiction, and below it what both sides say."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    for one in body["items"]:
        _print_edges([one["edge"]])
        print_columns(["", *_memory(one[side])] for side in ("fromMemory", "toMemory"))
    if body["next_cursor"]:
        say_more({"next_cursor": body["next_cursor"]})


def show_history(body: Mapping[str, Any]) -> None:
    """Print what became of a memory, one version a line, the oldest first."""
    if not body["items"]:
        print("elf: nothing found", file=sys.stderr)
        return
    print_columns(
        [
            one["version"], one["createdAt"], one["operation"], one["actor"], one["reason"],
            one["memory"]["status"], one["memory"]["importance"], one["memory"]["summary"],
        ]
        for one in body["items"]
    )  # fmt: skip
    if body.get("next_cursor"):
        say_more({"next_cursor": body["next_cursor"]})


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


def _resolution(one: Mapping[str, Any] | None) -> list[object]:
    return ["", ""] if one is None else [one["outcome"], one["reason"]]


def _print_found(rows: Iterable[tuple[float, str, str, bool, str]]) -> None:
    print_columns(
        [f"{score:.4f}", kind, memory_id, "contradicted" if is_contradicted else "", text]
        for score, kind, memory_id, is_contradicted, text in rows
    )


def _print_memories(memories: Iterable[Mapping[str, Any]]) -> None:
    print_columns(map(_memory, memories))


def _memory(one: Mapping[str, Any]) -> list[object]:
    return [one["memoryId"], one["type"], one["status"], one["importance"], one["summary"]]


def _print_edges(edges: Iterable[Mapping[str, Any]]) -> None:
    print_columns(map(_edge, edges))


def _edge(one: Mapping[str, Any]) -> list[object]:
    return [one["fromMemoryId"], one["edgeType"], one["toMemoryId"], one["edgeId"]]


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
        "bulletin": show_bulletin,
        "context": show_context,
        "list": show_memories,
        **dict.fromkeys(("update", "supersede", "retract", "restore", "resolve"), show_changed),
        "edges": show_edges,
        "contradictions": show_contradictions,
        "history": show_history,
        "show": show_memory,
        "share": show_memory,
        "recover": show_recovered,
    },
    replaced=frozenset({"export", "take_in"}),
    add=TRANSFER.add,
)
