"""Turns of a conversation that are taken in, with the rules of the package and with a chat model that is slow."""

from __future__ import annotations

import json
import random
import re
import time
from typing import Any, Final

from ops.bench.assistant_memories import ANA, Asker, posted
from ops.bench.graph import Goals
from ops.bench.search import note_text, percentile, show
from tests.system.fake_chat import saying
from tests.system.service import RunningService

TURNS: Final = 3
TAKEN: Final = 60
WARM_UP: Final = 10
CHAT_S: Final = 3.0
LONG_CHARS: Final = 400
"""What is longer may hold several facts, and is worth asking a chat model."""


def slow(asked: dict[str, Any]) -> tuple[int, Any]:
    """Answer after three seconds: with where the user lives, where that is told, and that no two memories are one."""
    time.sleep(CHAT_S)
    told = re.search(r"I live in (Town\d+)\.", asked["messages"][-1]["content"])
    fact = {"category": "profile", "importance": 2, "confidence": 0.9}
    facts = [fact | {"text": f"User lives in {told[1]}.", "quote": told[0]}] if told else []
    return saying(json.dumps({"facts": facts, "pairs": []}))


def said(number: int) -> list[dict[str, str]]:
    """Return what a user says and an assistant answers: every other turn is long."""
    rng = random.Random(number)
    thing = note_text(rng, number).partition(" ")[2].partition(",")[0]
    text = f"I live in Town{number}. I prefer Tea{number} over coffee."
    while number % 2 and len(text) <= LONG_CHARS:
        text += f" By the way, my neighbour {thing}, and I am telling you for the record number {len(text)}."
    return [{"role": "user", "content": text}, {"role": "assistant", "content": "Noted."}]


async def talking(service: RunningService, goals: Goals, *, engine: str) -> None:
    """Take in turns, a user after the other so that no cap of a day is met."""
    p95 = []
    number = 0
    async with Asker(service).client() as client:
        for _ in range(TURNS):
            taken = []
            for place in range(WARM_UP + TAKEN):
                number += 1
                milliseconds, answer = await posted(
                    client, "turn", user_id=f"{ANA}-{number // 10}", thread_id="talk", turn_id=str(number),
                    messages=said(number),
                )  # fmt: skip
                assert answer["results"], "something was told"
                if place >= WARM_UP:
                    taken.append(milliseconds)
            show(f"turn, {engine}", taken)
            p95.append(percentile(taken, 0.95))
    goals.at_most(150, f"p95 of a turn, {engine}, in ms", p95)
