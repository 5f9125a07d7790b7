#!/usr/bin/env python3
"""Recall of the search of conversations beside that of notes, on LoCoMo or BEAM chats, in a service started for it.

Each chat has a user of its own, each of its sessions a conversation; every turn or message is an entry of the history,
and a note of up to the same length as well. Every question is asked of both. Printed are the recalls, the mean gain
with its interval of 95%, paired by question, and which share of what should be found the assistant said.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from elf.client import NewNote
from elf.core.logs import configure_logging
from ops.eval import beam, locomo
from ops.eval.chats import CUTS, Chat, recall
from ops.eval.service import started
from tests.system.said import is_indexed
from tests.system.service import RunningService, wait_for
from tests.system.truth import wait_indexed

ROOT: Final = "/v1/conversations"
TENANT: Final = "default"
PATIENCE_S: Final = 1200.0
CHARS: Final = 16_000


@dataclass(frozen=True)
class Said:
    """A message of a chat, by the key of its note."""

    key: str
    session: str
    role: str
    text: str


def messages_of(chat: Chat, sessions: Mapping[str, str], roles: Mapping[str, str]) -> list[Said]:
    return [
        Said(note.key or "", sessions.get(note.key or "", ""), roles.get(note.key or "", "USER"), note.text)
        for note in chat.notes
    ]


def locomo_set(path: str) -> Iterator[tuple[Chat, list[Said]]]:
    """The chats of a LoCoMo file; both who speak are people."""
    samples = {one["sample_id"]: one for one in json.loads(Path(path).read_text(encoding="utf-8"))}
    for chat in locomo.read_chats(path, None):
        talk = locomo.sessions_of(samples[chat.name]["conversation"])
        sessions = {turn: session for session, turns in talk for turn in turns}
        yield chat, messages_of(chat, sessions, {})


def beam_set(path: str) -> Iterator[tuple[Chat, list[Said]]]:
    """The chats of a BEAM file, each one conversation of a user with an assistant."""
    chats = json.loads(Path(path).read_text(encoding="utf-8"))
    for chat, raw in zip(beam.read_chats(path), chats, strict=True):
        roles = {beam.key_of(one["id"]): "USER" if one["role"] == "user" else "AI" for one in raw["messages"]}
        yield chat, messages_of(chat, {}, roles)


class Speaker:
    """The user of a chat, with an agent that writes down what is said."""

    def __init__(self, service: RunningService, name: str) -> None:
        self._client = service.client
        self._headers = {"Authorization": f"Bearer {name}", "X-Client-ID": "evaluation"}

    def call(self, path: str, body: Mapping[str, Any]) -> Any:
        answer = self._client.post(path, json=body, headers=self._headers, timeout=60)
        if answer.is_error:
            raise SystemExit(f"{path}: {answer.status_code} {answer.text}")
        return answer.json()

    def store(self, messages: Sequence[Said]) -> dict[str, str]:
        """Write down what was said; returns the keys by the ids of the entries."""
        conversations: dict[str, str] = {}
        keys = {}
        for one in messages:
            if one.session not in conversations:
                conversations[one.session] = self.call(ROOT, {})["id"]
            body = {
                "channel": "history", "contentType": "history", "indexedContent": one.text,
                "content": [{"role": one.role, "text": one.text}],
            }  # fmt: skip
            keys[self.call(f"{ROOT}/{conversations[one.session]}/entries", body)["id"]] = one.key
        return keys

    def found(self, query: str) -> list[str]:
        body = {"query": query, "limit": max(CUTS), "groupByConversation": False, "includeEntry": False}
        return [one["entryId"] for one in self.call(f"{ROOT}/search", body)["data"]]


@dataclass(frozen=True)
class Answered:
    """What came of a question: its recalls by conversations and by notes, and whose the gold is that was found."""

    kind: str
    entries: list[float]
    notes: list[float]
    gold_of_assistants: float
    found_of_assistants: float


def ask(
    service: RunningService, chat: Chat, messages: Sequence[Said], keys: Mapping[str, str]
) -> Iterator[Answered]:
    speaker = Speaker(service, chat.name)
    spoken = {one.key for one in messages if one.role == "AI"}
    for question in chat.questions:
        entries = [keys[id] for id in speaker.found(question.text)]
        notes = _notes_found(service, chat, question.text)
        hit = set(entries[:10]) & question.gold
        yield Answered(
            question.kind,
            [recall(entries, question.gold, cut) for cut in CUTS],
            [recall(notes, question.gold, cut) for cut in CUTS],
            len(question.gold & spoken) / len(question.gold),
            len(hit & spoken) / len(question.gold),
        )


def _notes_found(service: RunningService, chat: Chat, query: str) -> list[str | None]:
    body = {
        "tenant_id": TENANT, "project_id": chat.name, "agent_id": "evaluation", "query": query,
        "read_profile": "private_plus_project", "top_k": max(CUTS), "record_hits": False,
    }  # fmt: skip
    answer = service.client.post("/v1/memory/search", json=body, timeout=60)
    answer.raise_for_status()
    return [item["key"] for item in answer.json()["items"]]


def store_notes(service: RunningService, chat: Chat) -> None:
    for note in chat.notes:
        _store_note(service, chat, note)


def _store_note(service: RunningService, chat: Chat, note: NewNote) -> None:
    body = {
        "tenant_id": TENANT, "project_id": chat.name, "agent_id": "evaluation", "scope": "project_shared",
        "notes": [{"type": "fact", "key": note.key, "text": note.text, "importance": 0.5, "confidence": 0.9}],
    }  # fmt: skip
    service.client.post("/v1/memory/add_note", json=body, timeout=60).raise_for_status()


def report(answers: Sequence[Answered]) -> None:
    """Print recalls by kind and over all, the gain, and the share of the assistants."""
    print(
        f"{'recall':<28} {'n':>5}  "
        + "  ".join(f"  @{cut:<2}       " for cut in CUTS)
        + " (conversations, notes)"
    )
    for kind in [*sorted({one.kind for one in answers}), ""]:
        some = [one for one in answers if kind in ("", one.kind)]
        cells = [
            " ".join(f"{statistics.fmean(column):.3f}" for column in both)
            for both in zip(
                zip(*(one.entries for one in some), strict=True),
                zip(*(one.notes for one in some), strict=True),
                strict=True,
            )
        ]
        print(f"{kind or 'overall':<28} {len(some):>5}  " + "  ".join(cells))
    for place, cut in enumerate(CUTS):
        gains = [one.entries[place] - one.notes[place] for one in answers]
        error = 1.96 * statistics.stdev(gains) / len(gains) ** 0.5
        print(f"gain @{cut}: {statistics.fmean(gains):+.4f} +- {error:.4f}")
    print(
        f"gold that assistants said: {statistics.fmean(one.gold_of_assistants for one in answers):.3f} of all, "
        f"found @10: {statistics.fmean(one.found_of_assistants for one in answers):.3f}"
    )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("set", choices=("locomo", "beam"))
    parser.add_argument("file", help="its JSON file")
    parser.add_argument("--local", metavar="CONFIG", type=Path, default=Path("elf.example.toml"))
    options = parser.parse_args()
    configure_logging("warning", form="auto")
    chats = list((locomo_set if options.set == "locomo" else beam_set)(options.file))
    with started(options.local, None, note_chars=CHARS) as service:
        keys = {}
        for chat, messages in chats:
            keys[chat.name] = Speaker(service, chat.name).store(messages)
            store_notes(service, chat)
            print(f"{chat.name}: {len(messages)} messages stored", file=sys.stderr)
        wait_for(lambda: is_indexed(service), "all is in the index", timeout_s=PATIENCE_S)
        wait_indexed(service, timeout_s=PATIENCE_S)
        report([one for chat, messages in chats for one in ask(service, chat, messages, keys[chat.name])])


if __name__ == "__main__":
    main()
