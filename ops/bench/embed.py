"""Prints how fast the packaged model is here: one query, batches, reranking.

python ops/bench/embed.py [--cache-dir FOLDER] [--threads N]
"""

from __future__ import annotations

import argparse
import statistics
import time
from collections.abc import Awaitable, Callable
from typing import Any

import anyio

from elf.config.model import EmbeddingProvider, RerankProvider
from elf.config.optional import LocalModel
from elf.providers.local.encoder import Encoder
from elf.providers.local.ports import LocalPorts
from elf.providers.port import Embedder

MODEL: dict[str, Any] = {
    "provider_id": "local",
    "api_base": "local:",
    "api_key": "local",
    "model": "all-MiniLM-L6-v2",
    "timeout_ms": 60_000,
    "default_headers": {},
}
SUBJECTS = ("Maria", "the importer", "our staging cluster", "the search page", "Tom", "the nightly build")
EVENTS = (
    "moved to Lisbon",
    "was rewritten in May",
    "needs more memory",
    "passed the review",
    "likes short answers",
)


def short_texts(count: int, *, salt: str = "") -> list[str]:
    """Return texts of 6 to 14 tokens, no two alike."""
    return [
        f"Fact {number}{salt}: {SUBJECTS[number % 6]} {EVENTS[number * 7 % 5]}" for number in range(count)
    ]


def note_texts(count: int) -> list[str]:
    """Return texts of about 30 tokens, no two alike."""
    tail = "which the team wrote down on Tuesday after a long talk about the plan for the next release"
    return [f"{text}, {tail}." for text in short_texts(count, salt="n")]


async def timed(work: Callable[[int], Awaitable[object]], *, times: int) -> str:
    took = []
    for number in range(times):
        started = time.perf_counter()
        await work(number)
        took.append((time.perf_counter() - started) * 1000)
    ninth = sorted(took)[int(times * 0.9)]
    return f"p50 {statistics.median(took):6.2f} ms   p90 {ninth:6.2f} ms   best {min(took):6.2f} ms"


async def rate(embedder: Embedder, texts: list[str]) -> str:
    started = time.perf_counter()
    await embedder.embed(texts)
    return f"{len(texts) / (time.perf_counter() - started):6.0f} texts/s"


async def bench(config: LocalModel) -> None:
    started = time.perf_counter()
    encoder = Encoder.open(config)
    print(f"load the model            {(time.perf_counter() - started) * 1000:6.0f} ms")
    ports = LocalPorts(encoder)
    embedding = EmbeddingProvider(path="/v1/embeddings", dimensions=384, **MODEL)
    rerank = RerankProvider(path="/v1/rerank", **MODEL)
    embedder = ports.embedder(embedding, None)
    reranker = ports.reranker(rerank, None)
    queries = [f"When did {SUBJECTS[number % 6]} change, number {number}?" for number in range(200)]
    notes = note_texts(60)

    print(f"embed one query           {await timed(lambda n: embedder.embed([queries[n]]), times=100)}")
    for run in range(3):
        print(f"embed 512 short texts     {await rate(embedder, short_texts(512, salt=str(run)))}")
    print(f"embed 60 notes            {await rate(embedder, notes)}")
    print(f"rerank 60 cached notes    {await timed(lambda n: reranker.rerank(queries[n], notes), times=100)}")

    async def fresh(number: int) -> None:
        await reranker.rerank(queries[number], [f"{number} {note}" for note in notes])

    print(f"rerank 60 unseen notes    {await timed(fresh, times=5)}")
    async with anyio.create_task_group() as group:
        group.start_soon(embedder.embed, short_texts(2000, salt="bulk"))
        beside = await timed(lambda n: embedder.embed([f"{queries[n]} again"]), times=50)
    print(f"embed one beside a bulk   {beside}")
    print(f"token cache               {encoder.token_cache.statistics()}")


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cache-dir", default="", help="the model cache (default: the user's)")
    parser.add_argument("--threads", type=int, default=2, help="threads of one pass")
    arguments = parser.parse_args()
    config = LocalModel(cache_dir=arguments.cache_dir, threads=arguments.threads, token_cache_mb=512)
    anyio.run(bench, config, backend_options={"use_uvloop": True})


if __name__ == "__main__":
    main()
