#!/usr/bin/env python3
"""Recall of an ELF service on LoCoMo conversations: of a running one, or of one started for it with a config file.

Each conversation becomes one project and each turn one note; with --long-sessions, every second session is one long
note instead, which answers what its turns answer: a ranking that only prefers short notes loses there.
Then every question of the categories 1 to 4 is searched. Recall is fractional: the share of a question's evidence notes
among the first k, averaged over the questions. The data set (Maharana et al. 2024) is not part of ELF.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from typing import Any

from elf.client import NewNote
from ops.eval.chats import Chat, Question
from ops.eval.command import command, run

CATEGORIES = {1: "1 multi-hop", 2: "2 temporal", 3: "3 open-domain", 4: "4 single-hop"}
TURN_CHARS = 240
SESSION_CHARS = 16_000

Turns = Mapping[str, str]


def read_chats(path: str, only: Sequence[str] | None, *, long_sessions: bool = False) -> list[Chat]:
    """Read the conversations of these names, or all. Raises SystemExit when one is not there."""
    with open(path, encoding="utf-8") as file:
        samples = {sample["sample_id"]: sample for sample in json.load(file)}
    if unknown := set(only or ()) - samples.keys():
        raise SystemExit(f"--only: {path} has no {', '.join(sorted(unknown))}, but {', '.join(samples)}")
    return [chat_of(samples[name], long_sessions=long_sessions) for name in only or samples]


def chat_of(sample: Mapping[str, Any], *, long_sessions: bool = False) -> Chat:
    """Make a chat of a conversation; with `long_sessions`, the 2nd, 4th, ... session is one note each."""
    talk = sample["conversation"]
    by_turn: dict[str, str] = {}
    notes: list[NewNote] = []
    for number, (session, turns) in enumerate(sessions_of(talk), start=1):
        whole = long_sessions and number % 2 == 0
        parts = {session: "\n".join(turns.values())} if whole else turns
        notes += [NewNote(text=text, key=key, confidence=0.9) for key, text in parts.items()]
        by_turn |= {turn: session if whole else turn for turn in turns}
    name = sample["sample_id"]
    questions = [
        Question(f"{name}/{place}", entry["question"], gold, CATEGORIES[entry["category"]])
        for place, entry in enumerate(sample["qa"])
        if entry["category"] in CATEGORIES and (gold := evidence(entry, by_turn))
    ]
    return Chat(name, notes, questions, [talk["speaker_a"], talk["speaker_b"]])


def sessions_of(talk: Mapping[str, Any]) -> list[tuple[str, Turns]]:
    """Return the sessions in their order, each with the text of its turns by their ids."""
    names = sorted((key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:]))
    return [(name, {turn["dia_id"]: turn_text(turn) for turn in talk[name]}) for name in names]


def turn_text(turn: Mapping[str, Any]) -> str:
    caption = turn.get("blip_caption")
    text = f"{turn['speaker']}: {turn['text']}" + (f" [shared image: {caption}]" if caption else "")
    return text[:TURN_CHARS]


def evidence(entry: Mapping[str, Any], by_turn: Mapping[str, str]) -> frozenset[str]:
    """Return the keys of the notes with a question's evidence; `by_turn` has the key of the note of each turn.

    Some entries name several turns in one string, some a turn that does not exist.
    """
    named = {turn for text in entry.get("evidence", []) for turn in re.split(r"[;,\s]+", text)}
    return frozenset(by_turn[turn] for turn in named & by_turn.keys())


def main() -> None:
    parser = command(__doc__)
    parser.add_argument("file", help="a LoCoMo JSON file")
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="conversations, such as conv-26 (default: all)"
    )
    parser.add_argument("--long-sessions", action="store_true", help="store every second session as one note")
    options = parser.parse_args()
    chats = read_chats(options.file, options.only, long_sessions=options.long_sessions)
    if options.long_sessions:
        run("long-sessions", chats, options, note_chars=SESSION_CHARS)
    else:
        run("locomo", chats, options, note_chars=TURN_CHARS)


if __name__ == "__main__":
    main()
