"""Recordings that begin, end and are cancelled at random, in two processes, while many replay them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass, field
from uuid import UUID

import anyio
import pytest

from elf.db.database import Database
from elf.families.conversations.errors import RecordingBroken
from elf.families.conversations.trees import Who
from tests.db.conversations.recording_kit import Process, Recording, Replay, nothing_is_left

pytestmark = pytest.mark.anyio

STEPS = 120
BREATH_S = 0.01


@dataclass
class Play:
    """What is done, and what it comes to: each recording begins with a number of its own."""

    processes: Sequence[Process]
    who: Who
    id: UUID
    rng: random.Random
    recordings: list[Recording] = field(default_factory=list)
    said: list[str] = field(default_factory=list)
    replays: list[Replay] = field(default_factory=list)

    async def step(self) -> None:
        """Do anything, and maybe let others."""
        process = self.rng.choice(self.processes)
        action = self.rng.choices(["record", "say", "stop", "go", "cancel", "replay"], [2, 12, 1, 1, 1, 10])[
            0
        ]
        if action == "record" or not self.recordings:
            self.said.append("")
            self.recordings.append(process.record(self.who, self.id))
            self.say(len(self.recordings) - 1, f"{len(self.recordings)}:")
        elif action == "replay":
            self.replays.append(process.replay(self.who, self.id))
        elif action == "cancel":
            await process.recorder.cancel(self.who, self.id)
        else:
            self.change(action)
        if self.rng.random() < 0.7:
            await anyio.sleep(self.rng.random() * BREATH_S)

    def change(self, action: str) -> None:
        going = [number for number, one in enumerate(self.recordings) if not one.over.is_set()]
        if not going:
            return
        number = self.rng.choice(going)
        if action == "say":
            self.say(number, self.rng.choice([" \u4e2d\u6587", " and", " so on" * 2000]))
        elif action == "stop":
            self.recordings[number].speech.stop()
        else:
            self.recordings[number].scope.cancel()

    def say(self, number: int, text: str) -> None:
        if self.recordings[number].speech.say_if_open(text):
            self.said[number] += text

    async def judge(self) -> list[str]:
        """End everything, and return what should not be."""
        for one in self.recordings:
            one.speech.stop()
        ends = [await one.ended() for one in self.recordings]
        heard: dict[int, set[str]] = {}
        faults = []
        for replay in self.replays:
            text = await replay.whole()
            if not text:
                continue
            number = int(text.partition(":")[0]) - 1
            if not self.said[number].startswith(text):
                faults.append(f"{text[:50]!r} is no beginning of {self.said[number][:50]!r}")
            if replay.failed is None:
                heard.setdefault(number, set()).add(text)
            elif not isinstance(replay.failed, RecordingBroken) or ends[number] is not None:
                faults.append(f"{replay.failed!r} of what ended as {ends[number]}")
        for number, texts in heard.items():
            if len(texts) > 1:
                faults.append(f"{len(texts)} texts of one recording")
            if ends[number] == "success" and texts != {self.said[number]}:
                faults.append("not all of a whole recording is replayed")
        return faults


@pytest.mark.parametrize("seed", range(6))
async def test_whoever_replays_hears_one_recording_from_its_start_and_all_of_it(
    processes: Sequence[Process], who: Who, id: UUID, database: Database, seed: int
) -> None:
    play = Play(processes, who, id, random.Random(seed))
    for _ in range(STEPS):
        await play.step()
    assert await play.judge() == []
    assert len(play.recordings) > 3
    assert any(replay.text for replay in play.replays)
    await nothing_is_left(database, who)
