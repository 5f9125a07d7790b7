#!/usr/bin/env python3
"""Recall of an ELF service on BEAM chats, whose messages are long: of a running one, or of one started for it.

Each chat becomes one project and each message one note, in their order. Then every question is searched. Recall is
fractional: the share of a question's messages among the first k, averaged over the questions. The file is a JSON list
of {"chat", "messages": [{"id", "role", "content"}], "questions": [{"type", "question", "source_ids"}]}; the data set
(Tavakoli et al. 2025) is not part of ELF. A service that runs already must have max_note_chars = 16000.
"""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Iterable, Mapping
from typing import Any

from elf.client import NewNote
from ops.eval.chats import Chat, Question
from ops.eval.command import command, run

MESSAGE_CHARS = 16_000
RELATION = (
    "friends?|partner|wife|husband|boyfriend|girlfriend|spouse|fiancee?|parents?|mother|father|mom|mum|dad|child|children|"
    "kids?|sons?|daughters?|brothers?|sisters?|siblings|cousins?|aunt|uncle|grandmother|grandfather|niece|nephew|"
    "neighbou?r|mentor|coach|teacher|tutor|advisor|colleagues?|coworker|boss|manager|assistant|producer|director|consultant"
)
RELATED = re.compile(rf"\b(?:{RELATION}),? ((?:[A-Z][a-z]+(?:, and |, | and )?)+)")
NAME = re.compile(r"[A-Z][a-z]+")


def read_chats(path: str) -> list[Chat]:
    """Read all chats of a file."""
    with open(path, encoding="utf-8") as file:
        return [chat_of(chat) for chat in json.load(file)]


def chat_of(chat: Mapping[str, Any]) -> Chat:
    """Make a chat of an entry of the file; a message is the note of its id."""
    name, messages = f"chat-{chat['chat']}", chat["messages"]
    notes = [
        NewNote(
            text=message["content"][:MESSAGE_CHARS], key=key_of(message["id"]), confidence=0.9,
            source_ref={"role": message["role"]},
        )
        for message in messages
    ]  # fmt: skip
    questions = [
        Question(
            f"{name}/{place}", entry["question"], frozenset(map(key_of, entry["source_ids"])), entry["type"]
        )
        for place, entry in enumerate(chat["questions"])
    ]
    return Chat(name, notes, questions, people(m["content"] for m in messages if m["role"] == "user"))


def key_of(message_id: int) -> str:
    return f"m{message_id}"


def people(texts: Iterable[str]) -> list[str]:
    """Return whom texts name as somebody's friend, child, colleague and the like, the most often named first."""
    named = Counter(name for text in texts for group in RELATED.findall(text) for name in NAME.findall(group))
    return [name for name, _ in named.most_common()]


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("file", help="a JSON file of chats")
    options = parser.parse_args()
    run("beam", read_chats(options.file), options, note_chars=MESSAGE_CHARS)


if __name__ == "__main__":
    main()
