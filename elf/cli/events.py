"""`elf add-event`: sends the messages of a conversation, from which the service keeps what is worth it."""

from __future__ import annotations

import argparse
import json
import sys
from pathlib import Path
from typing import Any

from elf.cli.client import Reply, Service
from elf.cli.notes import calls, run_request, similar_to
from elf.cli.outcome import UsageError
from elf.cli.terminal import terminal
from elf.cli.text import plain, print_columns
from elf.config import Config

STDIN = Path("-")


def add_event(options: argparse.Namespace) -> int:
    messages = read_messages(options.file)

    async def request(service: Service, config: Config, options: argparse.Namespace) -> Reply:
        call = calls(options).add_event(
            messages, scope=options.scope or config.default_scope, dry_run=options.dry_run
        )
        return await service.ask(call)

    return run_request(options, request, _show)


def read_messages(source: Path) -> list[Any]:
    """Read messages from a file, or from standard input for `-`. Raises UsageError when there are none to read.

    Understood are a JSON list of messages, an object with such a list as `messages`, and one message a line.
    """
    name = "standard input" if source == STDIN else str(source)
    try:
        content = sys.stdin.buffer.read() if source == STDIN else source.read_bytes()
        text = content.decode("utf-8-sig")
    except OSError as error:
        raise UsageError(f"{name} cannot be read: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise UsageError(f"{name} is not UTF-8 text") from error
    try:
        return _messages(text)
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{name} holds no messages as JSON: {error}") from error


def _messages(text: str) -> list[Any]:
    try:
        value = json.loads(text)
    except json.JSONDecodeError:
        if "\n" not in text.strip():
            raise
        return [_load_line(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    messages = value.get("messages", [value]) if isinstance(value, dict) else value
    if not isinstance(messages, list):
        raise ValueError("there must be a list of messages")
    return messages


def _load_line(number: int, line: str) -> Any:
    try:
        return json.loads(line)
    except json.JSONDecodeError as error:
        raise ValueError(f"line {number}: {error}") from error


def _show(body: dict[str, Any]) -> None:
    if not body["results"]:
        print("elf: nothing worth keeping was found", file=sys.stderr)
        return
    told = [_told(note, result) for note, result in zip(body["extracted"], body["results"], strict=True)]
    if (console := terminal()) is not None:
        from elf.cli.screens.notes import proposals

        console.print(proposals(list(zip(body["results"], told, strict=True))))
        return
    print_columns(
        [result["op"], result["note_id"], *(said or ["-"]), text]
        for result, (said, text) in zip(body["results"], told, strict=True)
    )


def _told(note: Any, result: dict[str, Any]) -> tuple[list[str], str]:
    """Return what is said of a note, if anything, and its text, or why it was rejected."""
    text = note.get("text") if isinstance(note, dict) else None
    said = [result["reason_code"]] if result["reason_code"] else similar_to(result)
    return said, plain(result["reason"] if result["op"] == "REJECTED" else text)
