#!/usr/bin/env python3
"""Recall of an ELF service on LoCoMo conversations: of a running one, or of one started for it with a config file.

Each conversation becomes one project and each turn one note; then every question of the categories 1 to 4 is
searched. Recall is fractional: the share of a question's evidence turns among the first k notes, averaged over the
questions. The data set (Maharana et al. 2024) is not part of ELF.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from elf.client import Client, NewNote, local

CUTS = (5, 10, 12, 20)
CATEGORIES = {1: "multi-hop", 2: "temporal", 3: "open-domain", 4: "single-hop"}
MAX_NOTE_CHARS = 240
AGENT = "locomo"


@dataclass(frozen=True)
class Question:
    text: str
    evidence: frozenset[str]
    category: int


@dataclass(frozen=True)
class Conversation:
    name: str
    turns: dict[str, str]
    questions: list[Question]


class Latencies:
    """Milliseconds by operation."""

    def __init__(self) -> None:
        self.by_name: dict[str, list[float]] = {}

    @contextmanager
    def timed(self, name: str) -> Iterator[None]:
        began = time.perf_counter()
        yield
        self.by_name.setdefault(name, []).append((time.perf_counter() - began) * 1000)


def read_conversations(path: str, only: list[str] | None) -> list[Conversation]:
    """Read those of these names, or all. Raises SystemExit when one is not there."""
    with open(path, encoding="utf-8") as file:
        samples = {sample["sample_id"]: sample for sample in json.load(file)}
    if unknown := set(only or ()) - samples.keys():
        raise SystemExit(f"--only: {path} has no {', '.join(sorted(unknown))}, but {', '.join(samples)}")
    return [_conversation(samples[name]) for name in only or samples]


def _conversation(sample: dict[str, Any]) -> Conversation:
    talk = sample["conversation"]
    sessions = sorted(
        (key for key in talk if re.fullmatch(r"session_\d+", key)), key=lambda key: int(key[8:])
    )
    turns = {turn["dia_id"]: _turn_text(turn) for key in sessions for turn in talk[key]}
    questions = []
    for entry in sample["qa"]:
        # Some entries name several turns in one string, some a turn that does not exist.
        named = {name for text in entry.get("evidence", []) for name in re.split(r"[;,\s]+", text)}
        evidence = frozenset(named & turns.keys())
        if entry["category"] in CATEGORIES and evidence:
            questions.append(Question(entry["question"], evidence, entry["category"]))
    return Conversation(sample["sample_id"], turns, questions)


def _turn_text(turn: dict[str, Any]) -> str:
    caption = turn.get("blip_caption")
    text = f"{turn['speaker']}: {turn['text']}" + (f" [shared image: {caption}]" if caption else "")
    return text[:MAX_NOTE_CHARS]


def store(memory: Client, latencies: Latencies, conversation: Conversation, batch: int) -> None:
    notes = [
        NewNote(text=text, key=turn_id, confidence=0.9, source_ref={"dia_id": turn_id})
        for turn_id, text in conversation.turns.items()
    ]
    for start in range(0, len(notes), batch):
        part = notes[start : start + batch]
        with latencies.timed("add_note"):
            results = memory.add_notes(part, scope="project_shared")
        for note, result in zip(part, results, strict=True):
            if result.op == "REJECTED":
                print(f"  {conversation.name} {note.key} rejected: {result.reason_code}", file=sys.stderr)


def wait_until_found(memory: Client, conversation: Conversation, timeout_s: float) -> None:
    """Wait until a sample of the notes is found by its own text."""
    sample = list(conversation.turns.items())[::20] + list(conversation.turns.items())[-1:]
    deadline = time.monotonic() + timeout_s
    while missing := [turn_id for turn_id, text in sample if turn_id not in find(memory, text)]:
        if time.monotonic() > deadline:
            raise SystemExit(f"{conversation.name}: not found by their own text: {', '.join(missing)}")
        time.sleep(0.2)


def find(memory: Client, query: str) -> list[str | None]:
    return [item.key for item in memory.search(query, top_k=max(CUTS)).items]


def recalls(found: list[str | None], question: Question) -> list[float]:
    return [len(question.evidence & set(found[:cut])) / len(question.evidence) for cut in CUTS]


def _row(name: str, rows: list[list[float]]) -> str:
    means = [statistics.fmean(column) for column in zip(*rows, strict=True)]
    return f"{name:<24} {len(rows):>5}  " + "  ".join(f"{mean:.3f}" for mean in means)


def report(results: list[tuple[str, Question, list[float]]]) -> None:
    print(f"\n{'recall of evidence turns':<24} {'n':>5}  " + "  ".join(f"  @{cut:<2}" for cut in CUTS))
    for category, label in CATEGORIES.items():
        if rows := [row for _, question, row in results if question.category == category]:
            print(_row(f"category {category} {label}", rows))
    for name in dict.fromkeys(name for name, _, _ in results):
        print(_row(name, [row for found, _, row in results if found == name]))
    print(_row("overall", [row for _, _, row in results]))


def report_latency(name: str, values: list[float]) -> None:
    ordered = sorted(values)
    p50, p95 = ordered[len(ordered) // 2], ordered[int(len(ordered) * 0.95)]
    print(f"{name:<10} {len(ordered):>6} requests   p50 {p50:6.1f} ms   p95 {p95:6.1f} ms")


def evaluate(memory: Client, conversations: list[Conversation], *, batch: int, wait_s: float) -> None:
    """Store all conversations, ask all questions and print what came of it. Each conversation is a project."""
    latencies = Latencies()
    places = [(conversation, memory.within(project_id=conversation.name)) for conversation in conversations]
    for conversation, place in places:
        store(place, latencies, conversation, batch)
        print(f"{conversation.name}: {len(conversation.turns)} notes stored", file=sys.stderr)
    for conversation, place in places:
        wait_until_found(place, conversation, wait_s)

    results = []
    for conversation, place in places:
        for question in conversation.questions:
            with latencies.timed("search"):
                found = find(place, question.text)
            results.append((conversation.name, question, recalls(found, question)))
    report(results)
    print()
    for name, values in latencies.by_name.items():
        report_latency(name, values)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="a LoCoMo JSON file")
    where = parser.add_mutually_exclusive_group()
    where.add_argument("--url", default="http://127.0.0.1:8765", help="where the service listens")
    where.add_argument(
        "--local", metavar="CONFIG", help="start a service with this config, for the evaluation only"
    )
    parser.add_argument(
        "--only", nargs="+", metavar="NAME", help="conversations, such as conv-26 (default: all)"
    )
    parser.add_argument("--tenant", default=f"locomo-{int(time.time())}", help="a fresh one by default")
    parser.add_argument("--batch", type=int, default=1, help="notes a request (default 1)")
    parser.add_argument("--wait", type=float, default=120.0, help="seconds to wait for the indexing")
    options = parser.parse_args()

    conversations = read_conversations(options.file, options.only)
    with local(options.local) if options.local else Client(options.url, timeout_s=60.0) as client:
        memory = client.within(tenant_id=options.tenant, agent_id=AGENT, read_profile="private_plus_project")
        evaluate(memory, conversations, batch=options.batch, wait_s=options.wait)


if __name__ == "__main__":
    main()
