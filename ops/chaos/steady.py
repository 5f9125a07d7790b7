#!/usr/bin/env python3
"""Have all families work at a steady pace for an hour, with a webhook that nobody answers; see that nothing creeps up.

    python -m ops.chaos.steady start --folder DIR
    python -m ops.chaos.steady drive --folder DIR [--minutes 9]     (again and again, for an hour)
    python -m ops.chaos.steady report --folder DIR [--cycles]

`start` starts a service with all families and leaves it running. Each `drive` goes through cycles, one every 4 s: in
each, every family is written to once, and read. The first one begins with some cycles and a consolidation of knowledge,
for what a process does for the first time takes memory that it keeps: the first large batch of the model 27 MB. The
memory that each process has for itself and open files are sampled meanwhile. `report` stops the service and exits with
1 unless

- the slope of memory, of all processes together, and of descriptors over the last three quarters of the time is at most
  5 % an hour;
- of each operation the p95 of the last third is at most 1.5 times that of the first;
- each table grows by what the cycles have written, as docs/operations.md tells, and by nothing else;
- what has an end is gone once all of it is older than its retention: for that, everything is made 800 days older and
  collected, and again, as a collection writes events, jobs and news of what it removes.

Needs Linux.
"""

from __future__ import annotations

import argparse
import json
import re
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Final, NamedTuple
from uuid import uuid4

import httpx
import numpy as np
import psutil

from elf.client import Client
from elf.client.retries import NO_RETRIES
from tests.system.service import READY, add_body, note, search_body, wait_for, write_config
from tests.system.truth import rows

PERIOD_S: Final = 4.0
SAMPLE_S: Final = 5.0
SETTLE_S: Final = 60.0
FIRST_CYCLES: Final = 50
MOST_SLOPE: Final = 5.0  # percent an hour
MOST_P95: Final = 1.5
TOLERANCE: Final = 0.02
AGED_DAYS: Final = 800
COLLECTIONS: Final = 3
"""A memory that nobody asked for is deleted by the first, purged by the second, and its events go with the third."""
PROCESSES: Final = ("service", "index", "rest")
INDEX: Final = "elf.index.edge.server"
"""What the command of an index process has in it. Postgres is no process of the tree: it outlives who started it."""
TENANT: Final = "steady"
USER: Final = "ana"
DEAD: Final = """
[[webhooks]]
name = "dead"
url = "http://127.0.0.1:9/"
secret = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
families = ["store", "notes"]
events = ["written", "forgotten"]
allow_private = true
"""
FIGURES, SAMPLES, COUNTS, PLACE = "figures.jsonl", "samples.jsonl", "counts.jsonl", "service.json"

ROWS: Final[Mapping[str, int]] = {
    # A note that is added, and one that is remembered.
    "memory_notes": 2,
    "memory_note_versions": 2,
    "memory_ingest_decisions": 2,
    "memory_note_chunks": 2,
    "note_embeddings": 2,
    "note_chunk_embeddings": 2,
    "note_chunk_tokens": 2,
    "indexing_outbox": 2,
    # A search of notes, and one of knowledge.
    "search_traces": 2,
    "search_trace_outbox": 2,
    # What is remembered, for three families; a recall and a context.
    "memory_said": 1,
    "memory_said_outbox": 3,
    "memory_traces": 2,
    # An entry, which is that of what is remembered.
    "conversation_entries": 1,
    "conversation_texts": 1,
    "conversations_chunks": 1,
    "conversations_chunk_embeddings": 1,
    "conversations_chunk_tokens": 1,
    "conversations_indexing_outbox": 1,
    # An episode and a fact, with an event each.
    "knowledge_episodes": 1,
    "knowledge_facts": 1,
    "knowledge_events": 2,
    # A turn that is remembered, by which its thread becomes known.
    "assistant_turns": 1,
    "assistant_outbox": 1,
    "assistant_recent": 1,
    "assistant_threads": 1,
    # A value that is written and deleted, and two notes, for a webhook that nobody answers.
    "webhook_outbox": 4,
}
"""By how many rows each table grows in a cycle. docs/operations.md tells of which write each is."""
MOST_ROWS: Final[Mapping[str, int]] = {
    # By how like a memory is to others: one that says the same is merged, and each is related to its neighbors.
    "assistant_memories": 2,
    "assistant_vectors": 2,
    "assistant_relations": 16,
    "assistant_history": 16,
    "assistant_changes": 48,
    "assistant_events": 8,
    # By how many candidates a search compares, and how many texts were not compared before.
    "search_trace_items": 100,
    "memory_tokens": 4,
    # By how often a drive asks whether all jobs are done.
    "audit_log": 4,
}
"""By how many rows, at most, tables grow in a cycle that depend on what the texts say or on how long work takes."""
FEW_ROWS: Final = 24
"""By how many rows any other table may grow in a drive, or what may be left: a conversation for 50 cycles, a run of a
chore, an audited call of the report."""
KEPT: Final = frozenset(
    {
        "memory_notes", "memory_note_versions", "memory_note_chunks", "note_embeddings", "note_chunk_embeddings",
        "note_chunk_tokens", "conversation_entries", "conversation_texts", "conversations_chunks",
        "conversations_chunk_embeddings", "conversations_chunk_tokens", "knowledge_facts", "knowledge_events",
        "assistant_threads", "assistant_memories", "assistant_vectors", "assistant_relations", "assistant_history",
        "assistant_changes",
    }
)  # fmt: skip
"""Tables of what stays until somebody deletes it, or for as long as its memory."""


class Service(NamedTuple):
    """Where the running service is."""

    pid: int
    url: str
    admin_url: str


def start(folder: Path) -> int:
    """Start the service and leave it running."""
    folder.mkdir(parents=True, exist_ok=True)
    config = write_config(folder)
    config.write_text(config.read_text() + DEAD, encoding="utf-8")
    out = folder / "out"
    with out.open("wb") as said, (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            [sys.executable, "-m", "elf", "up", "-c", str(config)],
            stdout=said,
            stderr=log,
            start_new_session=True,
        )
    ready = wait_for(lambda: READY.search(out.read_bytes()), "it is ready", timeout_s=180.0)
    place = Service(process.pid, ready[1].decode(), ready[2].decode())
    (folder / PLACE).write_text(json.dumps(place._asdict()))
    print(f"process {place.pid} at {place.url}")
    return 0


class Cycle:
    """What is done once in a period: each step is an operation whose time is measured."""

    def __init__(self, client: Client, http: httpx.Client) -> None:
        self._client = client
        self._http = http

    def steps(self, number: int) -> Iterator[tuple[str, Callable[[], object]]]:
        """Yield the operations of a cycle by their names. What is written is new in each cycle."""
        client, word = self._client, uuid4().hex[:12]
        text = f"Preference: Ana likes the tea called {word}."
        query = f"what is the tea {word} like?"
        if number % 50 == 0 or not hasattr(self, "_conversation"):
            self._conversation = client.conversations.create(title=f"Tea {word}").id
        yield "add a note", lambda: self._notes("add_note", add_body(TENANT, note(text)))
        yield "search notes", lambda: self._notes("search", search_body(TENANT, query))
        yield "remember", lambda: client.memories.remember([{"content": text}], user_id=USER)
        yield "recall", lambda: client.memories.recall(query, user_id=USER, agent_id="a")
        yield "context", lambda: client.memories.context(query, user_id=USER, agent_id="a")
        yield "put a value", lambda: client.store.put(["tea"], word, {"tea": text}, user_id=USER)
        yield "search values", lambda: client.store.search(query, namespace=["tea"], user_id=USER)
        yield "delete a value", lambda: client.store.delete(["tea"], word, user_id=USER)
        yield "store an episode", lambda: client.knowledge.store_episode(text, "travel")
        yield "store a fact", lambda: client.knowledge.store_fact("Ana", f"tea {word}", "green")
        yield "search knowledge", lambda: client.knowledge.search(query)
        entry = [{"role": "USER", "text": text}]
        yield "append an entry", lambda: client.conversations.append(self._conversation, entry)
        yield "search conversations", lambda: [*client.conversations.search(query)]
        yield "remember in the graph", lambda: client.graph.remember(text, "Preference")
        yield "recall from the graph", lambda: client.graph.recall(query)
        yield "add to the assistant", lambda: client.assistant.add(text, "preferences", user_id=USER)
        yield "query the assistant", lambda: client.assistant.query(query, agent="supervisor", user_id=USER)

    def _notes(self, name: str, body: Mapping[str, Any]) -> None:
        self._http.post(f"/v1/memory/{name}", json=body).raise_for_status()


def drive(folder: Path, minutes: float) -> int:
    """Go through cycles for some minutes, and note down what they took."""
    service = Service(**json.loads((folder / PLACE).read_text()))
    sampler = _Sampler(service, folder / SAMPLES)
    end = time.monotonic() + 60.0 * minutes
    cycles = 0
    with (
        (folder / FIGURES).open("a") as figures,
        Client(service.url, tenant_id=TENANT, project_id="p", agent_id="a", retries=NO_RETRIES) as client,
        httpx.Client(base_url=service.url, timeout=60.0) as http,
        sampler,
    ):
        cycle = Cycle(client, http)
        if not (folder / COUNTS).exists():
            _work_once(cycle, service)
            _count(folder, 0)
        while (due := time.monotonic()) < end:
            for name, step in cycle.steps(cycles):
                began = time.monotonic()
                step()
                took_ms = 1000 * (time.monotonic() - began)
                print(json.dumps({"at": time.time(), "op": name, "ms": round(took_ms, 2)}), file=figures)
            cycles += 1
            figures.flush()
            time.sleep(max(0.0, due + PERIOD_S - time.monotonic()))
        _settle(service)
        _count(folder, cycles)
    print(f"{cycles} cycles, machine load {Path('/proc/loadavg').read_text().split()[0]}")
    return 0


def _work_once(cycle: Cycle, service: Service) -> None:
    """Have the service do what comes every few hours, so that no memory is taken for it later."""
    for number in range(FIRST_CYCLES):
        for _, step in cycle.steps(number):
            step()
    _settle(service)
    answer = httpx.post(f"{service.admin_url}/v1/admin/knowledge/consolidation", json={}, timeout=300.0)
    answer.raise_for_status()
    print(f"{answer.json()['episodes_consolidated']} episodes consolidated")
    _settle(service)


class _Sampler:
    """Notes memory and descriptors down for as long as the block lasts."""

    def __init__(self, service: Service, path: Path) -> None:
        self._root = psutil.Process(service.pid)
        self._path = path
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)

    def __enter__(self) -> None:
        self._thread.start()

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        self._thread.join()

    def _run(self) -> None:
        while not self._stop.wait(SAMPLE_S):
            sample = {"at": time.time(), **self._now()}
            with self._path.open("a") as samples:
                print(json.dumps(sample), file=samples)

    def _now(self) -> Mapping[str, float]:
        """Return the megabytes of each kind of process and of all, and how many files are open.

        Mapped files do not count. The system takes their pages back when it needs them, and how many of them a process
        answers for depends on the others that map them: the end of another service made it 25 MB more.
        """
        memory, descriptors = dict.fromkeys(PROCESSES, 0.0), 0
        for process in (self._root, *self._root.children(recursive=True)):
            with suppress(psutil.NoSuchProcess, OSError):  # it has ended meanwhile
                told = Path(f"/proc/{process.pid}/smaps_rollup").read_text()
                anonymous = int(re.search(r"^Anonymous:\s+(\d+)", told, re.MULTILINE)[1])  # type: ignore[index]
                memory[self._kind(process)] += anonymous / 1024
                descriptors += process.num_fds()
        return {**memory, "memory": sum(memory.values()), "descriptors": float(descriptors)}

    def _kind(self, process: psutil.Process) -> str:
        if process == self._root:
            return "service"
        return "index" if INDEX in process.cmdline() else "rest"


def _settle(service: Service) -> None:
    """Wait until no job is left but those of the webhook that nobody answers."""

    def is_settled() -> bool:
        items = httpx.get(f"{service.admin_url}/v1/admin/jobs/counts", timeout=30.0).json()["items"]
        return not sum(
            one["pending"] + one["failed"] for one in items if not one["queue"].startswith("webhook")
        )

    wait_for(is_settled, "all jobs are done", timeout_s=SETTLE_S)


def _count(folder: Path, cycles: int) -> None:
    with (folder / COUNTS).open("a") as file:
        print(json.dumps({"cycles": cycles, "counts": _counted(folder)}), file=file)


def _counted(folder: Path) -> dict[str, int]:
    tables = [one["name"] for one in rows(folder, "SELECT relname AS name FROM pg_stat_user_tables")]
    asked = " UNION ALL ".join(f"SELECT '{name}' AS name, count(*) AS n FROM {name}" for name in tables)
    return {one["name"]: one["n"] for one in rows(folder, asked)}


# What is to hold


@dataclass(frozen=True, slots=True)
class Slope:
    """How something grows, in percent of its mean an hour, with the 90% interval of that."""

    percent: float
    low: float
    high: float


def slope_of(samples: Sequence[tuple[float, float]]) -> Slope:
    """Fit a line by least squares. The interval is that of independent errors, which samples close by are not quite."""
    at, value = (np.array(column, dtype=float) for column in zip(*samples, strict=True))
    at = (at - at.mean()) / 3600.0
    spread = float((at**2).sum())
    rise = float((at * (value - value.mean())).sum()) / spread
    left = value - value.mean() - rise * at
    error = float(np.sqrt((left**2).sum() / max(1, len(at) - 2) / spread))
    of_mean = 100.0 / float(value.mean())
    return Slope(rise * of_mean, (rise - 1.645 * error) * of_mean, (rise + 1.645 * error) * of_mean)


def report(folder: Path, *, shows_rows: bool) -> int:
    """Print what came of it; returns the exit code. With `shows_rows` all tables are told of, and what each grew by."""
    faults = [*resources(folder), *_times(folder), *_growth(folder, shows_rows=shows_rows), *_ends(folder)]
    service = Service(**json.loads((folder / PLACE).read_text()))
    process = psutil.Process(service.pid)
    process.send_signal(signal.SIGTERM)
    psutil.wait_procs([process], timeout=60.0)
    print(f"machine load {Path('/proc/loadavg').read_text().split()[0]}")
    print(*(f"FAULT: {fault}" for fault in faults), sep="\n")
    return 1 if faults else 0


def _lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def resources(folder: Path) -> Iterator[str]:
    """Print how memory, by process, and descriptors grow, and tell what grows by too much."""
    samples = _lines(folder / SAMPLES)
    first, last = samples[0]["at"], samples[-1]["at"]
    late = [one for one in samples if one["at"] >= first + (last - first) / 4]
    print(f"{(last - first) / 60:.0f} minutes, {len(samples)} samples")
    for name in ("memory", *PROCESSES, "descriptors"):
        values = [one[name] for one in late]
        if not any(values):
            continue
        slope = slope_of([(one["at"], one[name]) for one in late])
        told = f"{slope.percent:+.1f} % an hour ({slope.low:+.1f} to {slope.high:+.1f})"
        shown = f"memory of the {name}" if name in PROCESSES else name
        print(f"{shown}: {statistics.fmean(values):.0f} on average, {told}")
        if name not in PROCESSES and slope.percent > MOST_SLOPE:
            yield f"{name} grows by {told}"


def _times(folder: Path) -> Iterator[str]:
    figures = _lines(folder / FIGURES)
    third = len(figures) // 3
    print(f"{'operation':24}{'p95 of the first third':>24}{'of the last':>14}")
    by_name: dict[str, list[list[float]]] = defaultdict(lambda: [[], []])
    for part, some in enumerate((figures[:third], figures[-third:])):
        for one in some:
            by_name[one["op"]][part].append(one["ms"])
    for name, (early, late) in by_name.items():
        before, after = _p95(early), _p95(late)
        print(f"{name:24}{before:21.1f} ms{after:11.1f} ms")
        if after > MOST_P95 * before:
            yield f"{name} takes {after:.1f} ms at p95 in the last third, and took {before:.1f} in the first"


def _p95(ms: Sequence[float]) -> float:
    return sorted(ms)[int(0.95 * len(ms))]


def _growth(folder: Path, *, shows_rows: bool) -> Iterator[str]:
    counted = _lines(folder / COUNTS)
    for before, after in pairwise(counted):
        cycles = after["cycles"]
        for table, count in after["counts"].items():
            grown = count - before["counts"].get(table, 0)
            if shows_rows and grown:
                print(f"{table:36}{grown / cycles:8.3f} rows a cycle")
            expected, most = ROWS.get(table, 0) * cycles, MOST_ROWS.get(table, 0) * cycles
            if table in MOST_ROWS:
                if grown > most:
                    yield f"{table} grew by {grown} rows in {cycles} cycles, by more than {most}"
            elif abs(grown - expected) > max(FEW_ROWS, TOLERANCE * expected):
                yield f"{table} grew by {grown} rows in {cycles} cycles, not by {expected}"


def _ends(folder: Path) -> Iterator[str]:
    """Make everything older, collect the garbage, and again; tell what should have gone and has not."""
    service = Service(**json.loads((folder / PLACE).read_text()))
    for _ in range(COLLECTIONS):
        _make_older(folder)
        _collect(service)
        _settle(service)  # else a job that is open would not be collected next
    most: dict[str, int] = {}
    for one in _lines(folder / COUNTS):
        for table, count in one["counts"].items():
            most[table] = max(count, most.get(table, 0))

    def left() -> list[str]:
        counts = _counted(folder)
        tables = sorted({*ROWS, *MOST_ROWS} - KEPT)
        return [
            f"{table} has {counts[table]} rows still"
            for table in tables
            if counts[table] > max(FEW_ROWS, 0.05 * most[table])
        ]

    with suppress(AssertionError):  # then some have not gone, and it is told which
        wait_for(lambda: not left(), "what is older than its retention is gone", timeout_s=SETTLE_S)
    yield from left()


def _make_older(folder: Path) -> None:
    """Make everything older, also what is dated by the day."""
    columns = rows(
        folder,
        "SELECT table_name, array_agg(column_name::text) AS names FROM information_schema.columns"
        " JOIN information_schema.tables USING (table_schema, table_name)"
        " WHERE table_schema = 'public' AND table_type = 'BASE TABLE' AND is_generated = 'NEVER'"
        " AND data_type IN ('timestamp with time zone', 'date')"
        " GROUP BY table_name",
    )
    for one in columns:
        moved = ", ".join(f"{name} = {name} - interval '{AGED_DAYS} days'" for name in one["names"])
        rows(folder, f"UPDATE {one['table_name']} SET {moved}")


def _collect(service: Service) -> None:
    """Collect the garbage, and clean up episodes, which the family does when its schedule says so."""
    with httpx.Client(base_url=service.admin_url, timeout=600.0) as admin:
        collected = admin.post("/v1/admin/gc").raise_for_status().json()
        cleaned = admin.post("/v1/admin/knowledge/episode_cleanup", json={}).raise_for_status().json()
    counts = {**collected["counts"], "expired_episodes": cleaned["expired_deleted"]}
    print("collected:", {name: count for name, count in counts.items() if count})


def main() -> int:
    """Do one part; returns the exit code."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("part", choices=["start", "drive", "report"])
    parser.add_argument("--folder", type=Path, required=True, help="where its data and figures are")
    parser.add_argument("--minutes", type=float, default=9.0, help="how long a drive lasts (default 9)")
    parser.add_argument(
        "--cycles", action="store_true", help="report by how many rows each table grew in a cycle"
    )
    options = parser.parse_args()
    folder = options.folder.resolve()
    if options.part == "start":
        return start(folder)
    if options.part == "drive":
        return drive(folder, options.minutes)
    return report(folder, shows_rows=options.cycles)


if __name__ == "__main__":
    sys.exit(main())
