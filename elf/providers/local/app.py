"""The packaged model as an ASGI app: OpenAI's embeddings and Cohere's rerank, with no socket or framework.

    POST /v1/embeddings   {"model", "input", "dimensions"?, "encoding_format"?}
    POST /v1/rerank       {"model", "query", "documents", "top_n"?}

Errors have OpenAI's shape: {"error": {"message", "type", "param", "code"}}.
"""

from __future__ import annotations

import base64
from collections.abc import Awaitable, Callable, MutableMapping
from functools import partial
from typing import Any, Literal, TypeVar

import msgspec
import numpy as np
import numpy.typing as npt
import structlog

from elf.providers.local.encoder import Encoder
from elf.providers.local.model import DIMENSIONS, MODEL_NAMES
from elf.providers.local.rerank import QueryTokens, relevance
from elf.providers.local.token_vectors import TokenVectors

Vector = npt.NDArray[np.float32]
Message = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[Message]]
Send = Callable[[Message], Awaitable[None]]

Request = TypeVar("Request")

MAX_BODY_BYTES = 16 * 1024 * 1024
MAX_TEXTS = 2048

_log = structlog.get_logger()


class _Refusal(Exception):
    """A request that is answered with an error."""

    def __init__(self, status: int, message: str, *, param: str | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.message = message
        self.param = param


class _EmbeddingRequest(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    input: str | list[str]
    dimensions: int | None = None
    encoding_format: Literal["float", "base64"] = "float"
    user: str | None = None


class _RerankRequest(msgspec.Struct, forbid_unknown_fields=True):
    model: str
    query: str
    documents: list[str]
    top_n: int | None = None


class LocalApp:
    """The ASGI app over one Encoder."""

    def __init__(self, encoder: Encoder) -> None:
        self._encoder = encoder
        self._routes: dict[str, Callable[[bytes], Awaitable[object]]] = {
            "/v1/embeddings": self._embeddings,
            "/v1/rerank": self._rerank,
        }
        self._embedding_decoder = msgspec.json.Decoder(_EmbeddingRequest)
        self._rerank_decoder = msgspec.json.Decoder(_RerankRequest)

    async def __call__(self, scope: Message, receive: Receive, send: Send) -> None:
        if scope["type"] == "lifespan":
            await _live(receive, send)
        elif scope["type"] == "http":
            await _answer(send, *await self._respond(scope, receive))
        else:
            raise ValueError(f"the local model speaks http only, not {scope['type']}")

    async def _respond(self, scope: Message, receive: Receive) -> tuple[int, object]:
        try:
            handle = self._route(scope)
            return 200, await handle(await _read_body(receive))
        except _Refusal as refusal:
            return refusal.status, _error_body(refusal)
        except Exception as error:  # noqa: BLE001 - the edge: whatever failed must leave as an HTTP answer
            _log.error("local_model.request_failed", path=scope["path"], exc_info=error)
            return 500, _error_body(_Refusal(500, f"the local model failed: {type(error).__name__}"))

    def _route(self, scope: Message) -> Callable[[bytes], Awaitable[object]]:
        handle = self._routes.get(scope["path"])
        if handle is None:
            raise _Refusal(404, f"there is no {scope['path']}; there are {', '.join(self._routes)}")
        if scope["method"] != "POST":
            raise _Refusal(405, f"{scope['path']} takes POST only")
        return handle

    async def _embeddings(self, content: bytes) -> object:
        request = _decode(self._embedding_decoder, content)
        texts = [request.input] if isinstance(request.input, str) else request.input
        _check_model(request.model)
        _check_count(texts, "input")
        if request.dimensions not in (None, DIMENSIONS):
            raise _Refusal(400, f"this model has {DIMENSIONS} dimensions", param="dimensions")
        matrix = await self._encoder.sentences(texts)
        wire = _base64 if request.encoding_format == "base64" else _floats
        return {
            "object": "list",
            "model": request.model,
            "data": [
                {"object": "embedding", "index": index, "embedding": wire(row)}
                for index, row in enumerate(matrix)
            ],
        }

    async def _rerank(self, content: bytes) -> object:
        request = _decode(self._rerank_decoder, content)
        _check_model(request.model)
        _check_count(request.documents, "documents")
        if request.top_n is not None and request.top_n < 1:
            raise _Refusal(400, "must be at least 1", param="top_n")
        query, *documents = await self._encoder.tokens([request.query, *request.documents])
        words = self._encoder.words(request.query, query)
        results = await self._encoder.run(partial(_rank, words, documents))
        return {"model": request.model, "results": results[: request.top_n]}


def _rank(query: QueryTokens, documents: list[TokenVectors]) -> list[dict[str, float]]:
    scores = relevance(query, documents)
    order = np.argsort(-scores, kind="stable").tolist()
    values = scores.tolist()
    return [{"index": place, "relevance_score": values[place]} for place in order]


def _floats(vector: Vector) -> list[float]:
    floats: list[float] = vector.tolist()
    return floats


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4", copy=False).tobytes()).decode("ascii")


def _decode(decoder: msgspec.json.Decoder[Request], content: bytes) -> Request:
    try:
        return decoder.decode(content)
    except (msgspec.DecodeError, RecursionError) as error:
        raise _Refusal(400, f"the body is not the JSON expected: {error}") from error


def _check_model(model: str) -> None:
    if model not in MODEL_NAMES:
        raise _Refusal(
            400, f"there is no model of this name; there is {' or '.join(sorted(MODEL_NAMES))}", param="model"
        )


def _check_count(texts: list[str], param: str) -> None:
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise _Refusal(400, f"must hold 1 to {MAX_TEXTS} texts", param=param)


def _error_body(refusal: _Refusal) -> object:
    kind = "server_error" if refusal.status >= 500 else "invalid_request_error"
    message = f"{refusal.param}: {refusal.message}" if refusal.param else refusal.message
    return {"error": {"message": message, "type": kind, "param": refusal.param, "code": None}}


async def _read_body(receive: Receive) -> bytes:
    parts: list[bytes] = []
    size = 0
    while True:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise _Refusal(400, "the client went away before the body was complete")
        part = message.get("body", b"")
        size += len(part)
        if size > MAX_BODY_BYTES:
            raise _Refusal(413, f"the body is larger than {MAX_BODY_BYTES} bytes")
        parts.append(part)
        if not message.get("more_body", False):
            return b"".join(parts)


async def _answer(send: Send, status: int, body: object) -> None:
    content = msgspec.json.encode(body)
    headers = [(b"content-type", b"application/json"), (b"content-length", str(len(content)).encode())]
    if status == 405:
        headers.append((b"allow", b"POST"))
    await send({"type": "http.response.start", "status": status, "headers": headers})
    await send({"type": "http.response.body", "body": content})


async def _live(receive: Receive, send: Send) -> None:
    while True:
        phase = (await receive())["type"]
        await send({"type": f"{phase}.complete"})
        if phase == "lifespan.shutdown":
            return
