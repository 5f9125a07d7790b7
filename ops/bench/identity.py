#!/usr/bin/env python3
"""What it costs to prove who calls: searches and writes with a key or a token, beside those of a service in mode off.

    python -m ops.bench.identity [--notes 2000] [--rounds 400]

Starts two services with the same notes, one in mode off and one that requires proof, whose tokens are signed with
RS256. One client asks them in turn: without proof, with a key, and with a token. Each query is asked once, so no cache
answers. Prints the median of each kind, its ratio to mode off within the rounds, and the bounds between which 90 % of
the medians lie when the rounds are drawn again (bootstrap).
"""

from __future__ import annotations

import argparse
import json
import random
import statistics
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path

import httpx

from elf.core.api_key import new_key
from ops.bench.search import NOTES_A_REQUEST, PROFILE, PROJECT_SHARED, note_text, question
from tests.folders import fresh_folder
from tests.issuer import Issuer
from tests.keys_kit import with_keys
from tests.system.service import RunningService, wait_for, write_config

USER, TENANT, AGENT = "ana", "default", "bench"
JWT = """
[security.auth.jwt]
issuer = "{issuer}"
jwks_file = "jwks.json"
project = "{{user}}"
"""
WARM_UP = 30
DRAWS = 4000
CONTEXT: Mapping[str, str] = {"tenant_id": TENANT, "project_id": USER, "agent_id": AGENT}


class Asker:
    """One way to say who calls, over one connection."""

    def __init__(self, name: str, url: str, headers: Mapping[str, str]) -> None:
        self.name = name
        self.milliseconds: list[float] = []
        self._http = httpx.Client(base_url=url, headers=dict(headers), timeout=60.0)

    def ask(self, path: str, body: Mapping[str, object]) -> None:
        """Ask, and take down how long the answer took."""
        content = json.dumps(body).encode()
        began = time.perf_counter()
        answer = self._http.post(path, content=content, headers={"Content-Type": "application/json"})
        self.milliseconds.append((time.perf_counter() - began) * 1000)
        answer.raise_for_status()

    def finds(self, number: int) -> bool:
        """Tell whether the note of this number is found."""
        body = {**CONTEXT, "read_profile": PROFILE, "query": f"ticket {number}"}
        found = self._http.post("/v1/memory/search", json=body).json()["items"]
        return any(item["key"] == f"n{number}" for item in found)


def search(rng: random.Random, number: int) -> tuple[str, dict[str, object]]:
    return "/v1/memory/search", {**CONTEXT, "read_profile": PROFILE, "query": question(rng, number)}


def add(rng: random.Random, number: int) -> tuple[str, dict[str, object]]:
    return "/v1/memory/add_note", written(rng, range(number, number + 1))


def written(rng: random.Random, numbers: Sequence[int]) -> dict[str, object]:
    notes = [
        {"type": "fact", "key": f"n{number}", "text": note_text(rng, number), "importance": 0.5, "confidence": 0.9}
        for number in numbers
    ]  # fmt: skip
    return {**CONTEXT, "scope": PROJECT_SHARED, "notes": notes}


def settle(asker: Asker, notes: int) -> None:
    """Store the notes and wait until the last is found."""
    rng = random.Random(3)
    for start in range(0, notes, NOTES_A_REQUEST):
        asker.ask("/v1/memory/add_note", written(rng, range(start, min(start + NOTES_A_REQUEST, notes))))
    wait_for(lambda: asker.finds(notes - 1), "the notes are indexed", timeout_s=300.0)


def measure(
    name: str,
    make: Callable[[random.Random, int], tuple[str, dict[str, object]]],
    askers: Sequence[Asker],
    rounds: int,
) -> None:
    """Let all ask in turn, each round in another order, and print what it took."""
    rng = random.Random(7)
    for asker in askers:
        asker.milliseconds.clear()
    for number in range(rounds + WARM_UP):
        if number == WARM_UP:
            for asker in askers:
                asker.milliseconds.clear()
        for asker in rng.sample(askers, len(askers)):
            asker.ask(*make(rng, rng.randrange(1_000_000, 1_000_000_000)))  # no note that is there
    off, *others = askers
    print(f"{name}, mode off: p50 {statistics.median(off.milliseconds):.2f} ms")
    for one in others:
        ratios = [mine / its for mine, its in zip(one.milliseconds, off.milliseconds, strict=True)]
        low, high = bounds(ratios)
        median = statistics.median(one.milliseconds) / statistics.median(off.milliseconds)
        print(
            f"{name}, {one.name}: p50 {statistics.median(one.milliseconds):.2f} ms, {median:.3f} of mode off;"
            f" by rounds {statistics.median(ratios):.3f} ({low:.3f} to {high:.3f})"
        )


def bounds(values: Sequence[float]) -> tuple[float, float]:
    """Return between which 90 % of the medians lie when the values are drawn again."""
    rng = random.Random(1)
    medians = sorted(statistics.median(rng.choices(values, k=len(values))) for _ in range(DRAWS))
    return medians[DRAWS // 20], medians[-DRAWS // 20]


def started(stack: ExitStack, issuer: Issuer, keys: Sequence[Mapping[str, object]]) -> str:
    """Start a service, which requires proof where there are keys, and return its URL."""
    folder: Path = stack.enter_context(fresh_folder())
    config = write_config(folder)
    if keys:
        (folder / "jwks.json").write_bytes(issuer.jwks())
        config.write_text(with_keys(config.read_text(), *keys) + JWT.format(issuer=issuer.url))
    return stack.enter_context(RunningService(config)).url


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--notes", type=int, default=2000)
    parser.add_argument("--rounds", type=int, default=400)
    options = parser.parse_args()
    issuer, key = Issuer(), new_key()
    with ExitStack() as stack:
        off = Asker("none", started(stack, issuer, []), {})
        url = started(stack, issuer, [{"name": "bench", "key": key, **CONTEXT}])
        token = issuer.token(USER, exp=time.time() + 3600)
        askers = [
            off,
            Asker("a key", url, {"X-API-Key": key}),
            Asker("a token", url, {"Authorization": f"Bearer {token}"}),
        ]
        for asker in askers[:2]:
            settle(asker, options.notes)
        measure("search", search, askers, options.rounds)
        measure("add", add, askers, options.rounds)


if __name__ == "__main__":
    main()
