#!/usr/bin/env python3
"""How fast the messages of chats are worked into the index, beside what their embedder can do alone.

    python -m ops.bench.indexing FILE [--messages 300]

FILE is a JSON array of chats, each with `messages` that have a `content`; each of the first messages becomes a note.
The packaged model runs in a process of its own behind a socket, where every text it is sent is counted. It makes the
service that this starts wait until all notes are written. Then prints: the tokens a second of the bare embedder, before
and after, and of the indexing; texts that were sent twice; jobs that failed; by how many places a note was overtaken;
and the CPU seconds of everything but the embedder.
"""

from __future__ import annotations

import argparse
import asyncio
import base64
import json
import socket
import time
from collections import Counter
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import anyio
import httpx
import hypercorn.asyncio

from elf.config import Config, load
from elf.config.model import EmbeddingProvider
from elf.config.optional import LocalModel
from elf.core.chunking import TokenCounter, split
from elf.providers.embedding import HttpEmbedder
from elf.providers.http import ProviderHttp
from elf.providers.local.wire import JsonApp
from elf.providers.tokens import HfTokens
from tests.folders import fresh_folder
from tests.system.fake_model import point_embedding
from tests.system.service import RunningService, add_body, note, processes_of, write_config
from tests.system.truth import rows

A_REQUEST = 20
LOOK_S = 0.5  # each look is a connection to Postgres
MARKS = 2  # tokens that the model adds to a text
App = Callable[[Any, Any, Any], Awaitable[None]]


class Counting:
    """An ASGI app around that of the model: it counts the texts, and holds requests back until its gate is open.

    GET /open opens the gate, GET /shut shuts it and forgets the counts, GET /counts returns them.
    """

    def __init__(self, app: App) -> None:
        self._app = app
        self._gate = asyncio.Event()
        self._calls = 0
        self._texts: Counter[str] = Counter()

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        if scope["type"] != "http" or scope["method"] == "POST":
            await self._app(scope, self._counted(receive) if scope["type"] == "http" else receive, send)
            return
        if scope["path"] == "/open":
            self._gate.set()
        elif scope["path"] == "/shut":
            self._gate.clear()
            self._calls, self._texts = 0, Counter()
        sent = {"calls": self._calls, "texts": self._texts}
        headers = [(b"content-type", b"application/json")]
        await send({"type": "http.response.start", "status": 200, "headers": headers})
        await send({"type": "http.response.body", "body": json.dumps(sent).encode()})

    def _counted(self, receive: Any) -> Any:
        content = b""

        async def receive_and_count() -> Any:
            nonlocal content
            message = await receive()
            content += message.get("body", b"")
            if message["type"] == "http.request" and not message.get("more_body"):
                self._calls += 1
                self._texts.update(json.loads(content)["input"])
                await self._gate.wait()
            return message

        return receive_and_count


def serve(listening: socket.socket, cache_dir: str) -> None:
    """Serve the packaged model, counted, until the process is terminated."""
    from elf.providers.local.encoder import Encoder

    encoder = Encoder.open(LocalModel(cache_dir=cache_dir, token_cache_mb=0))
    config = hypercorn.Config()
    config.bind = [f"fd://{listening.fileno()}"]

    async def embeddings(content: bytes) -> object:
        matrix = await encoder.sentences(json.loads(content)["input"])
        vectors = (base64.b64encode(row.astype("<f4").tobytes()).decode() for row in matrix)
        return {"data": [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]}

    app = Counting(JsonApp({"/v1/embeddings": embeddings}))
    asyncio.run(hypercorn.asyncio.serve(app, config))  # type: ignore[arg-type]


@contextmanager
def embedder_process(cache_dir: Path) -> Iterator[str]:
    """Start the embedder and yield its address."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        address = f"http://127.0.0.1:{listening.getsockname()[1]}"
        process = get_context("fork").Process(target=serve, args=(listening, str(cache_dir)))
        process.start()
    try:
        yield address
    finally:
        process.terminate()
        process.join()


async def embed(config: EmbeddingProvider, texts: Sequence[str]) -> float:
    """Return the seconds that the bare embedder takes."""
    http = ProviderHttp("providers.embedding", config.model_copy(update={"timeout_ms": 600_000}))
    try:
        began = time.perf_counter()
        await HttpEmbedder(config, http).embed(texts)
        return time.perf_counter() - began
    finally:
        await http.aclose()


def cpu_seconds(folder: Path) -> float:
    """The CPU seconds of a service, of its Postgres and its index so far, with those of their children that ended."""
    return sum(sum(process.cpu_times()[:4]) for process in processes_of(folder))


def write(service: RunningService, messages: Sequence[str]) -> None:
    """Write the messages as notes that need not be compared."""
    for first in range(0, len(messages), A_REQUEST):
        notes = [
            note(text, key=f"message {first + place}")
            for place, text in enumerate(messages[first : first + A_REQUEST])
        ]
        response = service.post("add_note", add_body("bench", *notes))
        response.raise_for_status()


def open_jobs(service: RunningService) -> int:
    query = "SELECT count(*) AS open FROM indexing_outbox WHERE status <> 'DONE'"
    return int(rows(service.config.parent, query)[0]["open"])


def finished(service: RunningService) -> list[Mapping[str, Any]]:
    """The places of the notes in the order in which they were done, and how often each failed."""
    return rows(
        service.config.parent,
        "SELECT substr(key, 9)::int AS place, attempts FROM indexing_outbox JOIN memory_notes USING (note_id)"
        " ORDER BY indexing_outbox.updated_at, indexing_outbox.created_at, place",
    )


def chunks_of(messages: Sequence[str], config: Config, tokens: TokenCounter) -> list[str]:
    sizes = {
        "max_tokens": config.chunking.max_tokens,
        "overlap_tokens": config.chunking.overlap_tokens,
    }
    return [chunk.text for message in messages for chunk in split(message, **sizes, tokens=tokens)]


def measure(service: RunningService, messages: Sequence[str], address: str) -> None:
    config = load(service.config)
    embedding = config.providers.embedding
    tokens = HfTokens.open(config.chunking.tokenizer_repo, embedding, config.local_model)
    chunks = chunks_of(messages, config, tokens)
    count = sum(len(tokens.spans(chunk)) + MARKS for chunk in chunks)
    print(f"{len(messages)} messages, {len(chunks)} chunks, {count} tokens", flush=True)

    def bare(when: str) -> float:
        httpx.get(f"{address}/open")
        rate = count / anyio.run(embed, embedding, chunks)
        print(f"bare embedder, {when:<20} {rate:7.0f} tokens/s", flush=True)
        return rate

    before = bare("before")
    httpx.get(f"{address}/shut")
    write(service, messages)
    cpu, began = cpu_seconds(service.config.parent), time.perf_counter()
    httpx.get(f"{address}/open")
    while open_jobs(service):
        time.sleep(LOOK_S)
    rate = count / (time.perf_counter() - began)
    cpu = cpu_seconds(service.config.parent) - cpu
    sent = httpx.get(f"{address}/counts").json()
    after = bare("after")
    done = finished(service)
    print(f"indexing {rate:33.0f} tokens/s   {2 * rate / (before + after):.2f} of the bare embedder")
    texts = Counter(sent["texts"])
    again = (texts - Counter(chunks)).total()
    print(f"sent {texts.total()} texts in {sent['calls']} calls, {again} of them again")
    print(f"jobs that failed {sum(job['attempts'] > 0 for job in done)}")
    print(f"most places overtaken {max(job['place'] - place for place, job in enumerate(done))}")
    print(f"CPU outside the embedder {cpu:.1f} s, {1000 * cpu / len(messages):.1f} ms a message")


def messages_of(file: Path, count: int) -> list[str]:
    """The first messages of a file, each text once."""
    chats = json.loads(file.read_text(encoding="utf-8"))
    texts = dict.fromkeys(message["content"] for chat in chats for message in chat["messages"])
    return list(texts)[:count]


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("file", type=Path)
    parser.add_argument("--messages", type=int, default=300)
    options = parser.parse_args()
    messages = messages_of(options.file, options.messages)
    with fresh_folder() as folder, embedder_process(folder / "model") as address:
        config = write_config(folder, max_note_chars="100000", log_level='"warning"')
        point_embedding(config, f"{address}/v1", timeout_ms=10_000)
        with RunningService(config) as service:
            measure(service, messages, address)


if __name__ == "__main__":
    main()
