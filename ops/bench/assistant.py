#!/usr/bin/env python3
"""How fast the assistant is, each of its operations beside what it cannot do without, measured in the same run.

    python -m ops.bench.assistant [--part query|recall|linking|turn|saver] [--memories 10000] [--others 90000]

Starts a service of its own for each part, on the embedded Postgres and with the packaged model. What is compared takes
turns, three of them; a goal is about the median of the three. Exit code 1: a goal is missed.

query: one client asks for bullets over HTTP, of a user with so many memories among those of others; after each answer
this process does the bare parts itself, one after the other: embedding the query, plain statements for the same rows, a
request that does nothing. Then 8 clients. The memories are made of a grammar; the vectors are those of 4,000 of them,
each moved a little at random, and each memory is linked to its nearest.

recall: a session of 200 turns of the same user, in which two agents look things up because they are not sure, one in
fewer than a tenth of the turns.

linking: the statement that finds and links the neighbours of a memory, beside a bare INSERT of as many edges; of users
with a thousand memories and with as many as Ana has.

turn: one client takes in turns of a conversation, with the rules of the package, and with a chat model behind a socket
that takes three seconds for each answer.

saver: states of 64 KiB and 1 MiB are saved and loaded by ElfSaver, beside plain statements that write and read the same
rows, and requests of that size that do nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Final

from ops.bench.assistant_memories import Sizes, asking, linking, recalling
from ops.bench.assistant_saver import saving
from ops.bench.assistant_turns import slow, talking
from ops.bench.graph import PATIENT, Goals
from tests.db.assistant.assistant_kit import assistant_config
from tests.folders import fresh_folder
from tests.system.fake_chat import point_extractor, running_chat
from tests.system.service import RunningService


@contextmanager
def served(chat: str | None = None) -> Iterator[RunningService]:
    """Start a service that has the assistant; `chat` is where a chat model is, if there is one."""
    with fresh_folder() as folder:
        config = assistant_config(Path(folder), **PATIENT)
        if chat is not None:
            point_extractor(config, chat, timeout_ms=20_000)
        with RunningService(config) as service:
            yield service


def query(sizes: Sizes, goals: Goals) -> None:
    with served() as service:
        asyncio.run(asking(service, sizes, goals))


def recall(sizes: Sizes, goals: Goals) -> None:
    with served() as service:
        asyncio.run(recalling(service, sizes._replace(of_others=0), goals))


def link(sizes: Sizes, goals: Goals) -> None:
    with served() as service:
        asyncio.run(linking(service, sizes._replace(of_others=10_000), goals))


def turn(_: Sizes, goals: Goals) -> None:
    with served() as service:
        asyncio.run(talking(service, goals, engine="local rules"))
    with running_chat() as chat:
        chat.script(slow)
        with served(chat.api_base) as service:
            asyncio.run(talking(service, goals, engine="a chat model that takes 3 s"))
        print(f"  the chat model was asked {len(chat.asked)} times")


def saver(_: Sizes, goals: Goals) -> None:
    with served() as service:
        asyncio.run(saving(service, goals))


PARTS: Final[dict[str, Callable[[Sizes, Goals], None]]] = {
    "query": query, "recall": recall, "linking": link, "turn": turn, "saver": saver,
}  # fmt: skip


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=tuple(PARTS), help="by default all, one after the other")
    parser.add_argument("--memories", type=int, default=10_000, help="how many Ana has (default 10000)")
    parser.add_argument("--others", type=int, default=90_000, help="how many others have (default 90000)")
    options = parser.parse_args()
    goals = Goals()
    for part in PARTS if options.part is None else (options.part,):
        print(f"{part}:", flush=True)
        PARTS[part](Sizes(options.memories, options.others), goals)
    return 1 if goals.missed else 0


if __name__ == "__main__":
    sys.exit(main())
