"""An embedder whose cosines tests can foretell: texts are alike as far as their characters are."""

from __future__ import annotations

import json
import math
import random
import threading
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from functools import cache
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final

DIMS: Final = 500


class Characters:
    """Embeds texts by how often each character is in them: what LangGraph calls an `Embeddings`."""

    dims = DIMS

    def embed_query(self, text: str) -> list[float]:
        """Return a vector of length 1; of no text the null vector."""
        vector = [0.0] * DIMS
        for character, times in Counter(text).items():
            vector = [at + times * part for at, part in zip(vector, _direction(character), strict=True)]
        length = math.hypot(*vector)
        return [at / length for at in vector] if length else vector

    def embed_documents(self, texts: Sequence[str]) -> list[list[float]]:
        """Return a vector of each text."""
        return [self.embed_query(text) for text in texts]


@cache
def _direction(character: str) -> Sequence[float]:
    rng = random.Random(ord(character))
    return [rng.gauss(0.0, 1.0) for _ in range(DIMS)]


@contextmanager
def serving() -> Iterator[str]:
    """Serve it as an embedding service does, and give its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        texts = asked["input"] if isinstance(asked["input"], list) else [asked["input"]]
        vectors = Characters().embed_documents(texts)
        data = [{"index": place, "embedding": vector} for place, vector in enumerate(vectors)]
        body = json.dumps({"data": data, "model": asked.get("model")}).encode()
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *told: Any) -> None:
        """Say nothing of each request."""
