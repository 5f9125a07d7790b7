"""Asks the questions of a set and tells how much of what answers them was found, and how fast."""

from __future__ import annotations

import json
import statistics
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from anyio.from_thread import start_blocking_portal

from elf.client import Client
from elf.config import load
from elf.providers.factory import open_providers
from ops.eval.chats import CUTS, Chat, Question, recall
from ops.eval.latencies import Latencies
from tests.folders import fresh_folder
from tests.system.service import write_config


@dataclass(frozen=True)
class Result:
    """What came of one question: its recall at each of CUTS, and the parts that could not help with the search."""

    chat: str
    question: Question
    recalls: list[float]
    degraded: list[str]


Embed = Callable[[str], None]


def evaluate(
    name: str, memory: Client, chats: Sequence[Chat], latencies: Latencies, *, results: Path | None
) -> None:
    """Ask all questions, each in the project of its chat, print recall and latencies, and write the recalls."""
    with embedding() as embed:
        found = [one for chat in chats for one in ask(memory, chat, latencies, embed)]
    report(found)
    print()
    latencies.show()
    ratio = latencies.median("search") / latencies.median("embedding")
    print(f"p50 of a search over p50 of embedding one query: {ratio:.2f}")
    if results is not None:
        write(results / f"{name}.recall.json", found)


def ask(memory: Client, chat: Chat, latencies: Latencies, embed: Embed) -> Iterator[Result]:
    """Search for each question, and embed it here right after: both see the same machine at the same moment."""
    place = memory.within(project_id=chat.name)
    for question in chat.questions:
        with latencies.timed("search"):
            answer = place.search(question.text, top_k=max(CUTS))
        with latencies.timed("embedding"):
            embed(question.text)
        keys = [item.key for item in answer.items]
        yield Result(chat.name, question, [recall(keys, question.gold, cut) for cut in CUTS], answer.degraded)


@contextmanager
def embedding() -> Iterator[Embed]:
    """Open the packaged model of this checkout, as the example config has it."""
    with fresh_folder() as folder, start_blocking_portal() as portal:
        config = load(write_config(folder))
        opening = portal.call(partial(open_providers, config))
        with portal.wrap_async_context_manager(opening) as providers:

            def embed(text: str) -> None:
                portal.call(providers.embedder.embed, [text])

            embed("the first call is slower")
            yield embed


def report(found: Sequence[Result]) -> None:
    """Print the mean recalls by the kind of question, by chat and over all."""
    print(f"\n{'recall':<28} {'n':>5}  " + "  ".join(f"  @{cut:<2}" for cut in CUTS))
    for kind in sorted({one.question.kind for one in found}):
        print(_row(kind, [one.recalls for one in found if one.question.kind == kind]))
    for chat in dict.fromkeys(one.chat for one in found):
        print(_row(chat, [one.recalls for one in found if one.chat == chat]))
    print(_row("overall", [one.recalls for one in found]))
    for part, searches in Counter(part for one in found for part in one.degraded).items():
        print(f"searches that had to do without {part}: {searches}")


def _row(name: str, rows: Sequence[Sequence[float]]) -> str:
    means = [statistics.fmean(column) for column in zip(*rows, strict=True)]
    return f"{name:<28} {len(rows):>5}  " + "  ".join(f"{mean:.3f}" for mean in means)


def write(path: Path, found: Sequence[Result]) -> None:
    """Write the recalls at each cut by the id of their question."""
    recalls = {one.question.id: dict(zip(map(str, CUTS), one.recalls, strict=True)) for one in found}
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(recalls, indent=1), encoding="utf-8")
