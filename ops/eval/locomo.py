#!/usr/bin/env python3
"""Recall of a running ELF service on LoCoMo conversations, over HTTP. Needs only the standard library.

Each conversation becomes one project and each turn one note; then every question of the categories 1 to 4 is
searched. Recall is fractional: the share of a question's evidence turns among the first k notes, averaged over the
questions. The data set (Maharana et al. 2024) is not part of ELF.
"""

from __future__ import annotations

import argparse
import http.client
import json
import re
import statistics
import sys
import time
import urllib.parse
from dataclasses import dataclass, field
from typing import Any

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


@dataclass
class Service:
    """A keep-alive connection to the service; `latencies` are milliseconds by endpoint."""

    url: str
    latencies: dict[str, list[float]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        parts = urllib.parse.urlsplit(self.url)
        self._connection = http.client.HTTPConnection(
            parts.hostname or "127.0.0.1", parts.port or 80, timeout=60
        )

    def post(self, name: str, body: dict[str, Any]) -> Any:
        began = time.perf_counter()
        self._connection.request(
            "POST", f"/v1/memory/{name}", json.dumps(body).encode(), {"Content-Type": "application/json"}
        )
        response = self._connection.getresponse()
        answer = response.read()
        self.latencies.setdefault(name, []).append((time.perf_counter() - began) * 1000)
        if response.status != 200:
            raise SystemExit(f"{name} failed with {response.status}: {answer.decode(errors='replace')}")
        return json.loads(answer)


def read_conversations(path: str) -> list[Conversation]:
    with open(path, encoding="utf-8") as file:
        return [_conversation(sample) for sample in json.load(file)]


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


def store(service: Service, conversation: Conversation, tenant: str, batch: int) -> None:
    notes = [
        {
            "type": "fact",
            "key": turn_id,
            "text": text,
            "importance": 0.5,
            "confidence": 0.9,
            "ttl_days": None,
            "source_ref": {"dia_id": turn_id},
        }
        for turn_id, text in conversation.turns.items()
    ]
    for start in range(0, len(notes), batch):
        body = _context(conversation, tenant) | {
            "scope": "project_shared",
            "notes": notes[start : start + batch],
        }
        for note, result in zip(body["notes"], service.post("add_note", body)["results"], strict=True):
            if result["op"] == "REJECTED":
                print(
                    f"  {conversation.name} {note['key']} rejected: {result['reason_code']}", file=sys.stderr
                )


def wait_until_found(service: Service, conversation: Conversation, tenant: str, timeout_s: float) -> None:
    """Wait until a sample of the notes is found by its own text."""
    sample = list(conversation.turns.items())[::20] + list(conversation.turns.items())[-1:]
    deadline = time.monotonic() + timeout_s
    while missing := [
        turn_id for turn_id, text in sample if turn_id not in find(service, conversation, tenant, text)
    ]:
        if time.monotonic() > deadline:
            raise SystemExit(f"{conversation.name}: not found by their own text: {', '.join(missing)}")
        time.sleep(0.2)


def find(service: Service, conversation: Conversation, tenant: str, query: str) -> list[str]:
    body = _context(conversation, tenant) | {
        "read_profile": "private_plus_project",
        "query": query,
        "top_k": max(CUTS),
    }
    return [item["key"] for item in service.post("search", body)["items"]]


def _context(conversation: Conversation, tenant: str) -> dict[str, Any]:
    return {"tenant_id": tenant, "project_id": conversation.name, "agent_id": AGENT}


def recalls(found: list[str], question: Question) -> list[float]:
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


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", help="a LoCoMo JSON file")
    parser.add_argument("--url", default="http://127.0.0.1:8765", help="where the service listens")
    parser.add_argument("--tenant", default=f"locomo-{int(time.time())}", help="a fresh one by default")
    parser.add_argument("--batch", type=int, default=1, help="notes a request (default 1)")
    parser.add_argument("--wait", type=float, default=120.0, help="seconds to wait for the indexing")
    options = parser.parse_args()

    conversations = read_conversations(options.file)
    service = Service(options.url)
    for conversation in conversations:
        store(service, conversation, options.tenant, options.batch)
        print(f"{conversation.name}: {len(conversation.turns)} notes stored", file=sys.stderr)
    for conversation in conversations:
        wait_until_found(service, conversation, options.tenant, options.wait)
    service.latencies.pop("search")

    results = []
    for conversation in conversations:
        for question in conversation.questions:
            found = find(service, conversation, options.tenant, question.text)
            results.append((conversation.name, question, recalls(found, question)))
    report(results)
    print()
    for name in ("add_note", "search"):
        report_latency(name, service.latencies[name])


if __name__ == "__main__":
    main()
