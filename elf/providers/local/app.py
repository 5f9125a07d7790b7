"""The packaged model as an ASGI app: OpenAI's embeddings and Cohere's rerank.

POST /v1/embeddings   {"model", "input", "dimensions"?, "encoding_format"?}
POST /v1/rerank       {"model", "query", "documents", "top_n"?}
"""

from __future__ import annotations

import base64
from functools import partial
from typing import Literal

import msgspec
import numpy as np
import numpy.typing as npt

from elf.config.packaged import DIMENSIONS, ENCODER_NAMES
from elf.providers.local.encoder import Encoder
from elf.providers.local.rerank import calibrated, likeness
from elf.providers.local.wire import JsonApp, Refusal, decode
from elf.providers.token_vectors import TokenVectors

Vector = npt.NDArray[np.float32]

MAX_TEXTS = 2048


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


class LocalApp(JsonApp):
    """The ASGI app over one Encoder."""

    def __init__(self, encoder: Encoder) -> None:
        super().__init__({"/v1/embeddings": self._embeddings, "/v1/rerank": self._rerank})
        self._encoder = encoder
        self._embedding_decoder = msgspec.json.Decoder(_EmbeddingRequest)
        self._rerank_decoder = msgspec.json.Decoder(_RerankRequest)

    async def _embeddings(self, content: bytes) -> object:
        request = decode(self._embedding_decoder, content)
        texts = [request.input] if isinstance(request.input, str) else request.input
        _check_model(request.model)
        _check_count(texts, "input")
        if request.dimensions not in (None, DIMENSIONS):
            raise Refusal(400, f"this model has {DIMENSIONS} dimensions", param="dimensions")
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
        request = decode(self._rerank_decoder, content)
        _check_model(request.model)
        _check_count(request.documents, "documents")
        if request.top_n is not None and request.top_n < 1:
            raise Refusal(400, "must be at least 1", param="top_n")
        query, *documents = await self._encoder.tokens([request.query, *request.documents])
        results = await self._encoder.run(partial(self._rank, request.query, query, documents))
        return {"model": request.model, "results": results[: request.top_n]}

    def _rank(
        self, query: str, tokens: TokenVectors, documents: list[TokenVectors]
    ) -> list[dict[str, float]]:
        scores = calibrated(likeness(self._encoder.words(query, tokens), documents).told_apart)
        order = np.argsort(-scores, kind="stable").tolist()
        values = scores.tolist()
        return [{"index": place, "relevance_score": values[place]} for place in order]


def _floats(vector: Vector) -> list[float]:
    floats: list[float] = vector.tolist()
    return floats


def _base64(vector: Vector) -> str:
    return base64.b64encode(vector.astype("<f4", copy=False).tobytes()).decode("ascii")


def _check_model(model: str) -> None:
    if model not in ENCODER_NAMES:
        raise Refusal(
            400, f"there is no model of this name; there is {' or '.join(ENCODER_NAMES)}", param="model"
        )


def _check_count(texts: list[str], param: str) -> None:
    if not 1 <= len(texts) <= MAX_TEXTS:
        raise Refusal(400, f"must hold 1 to {MAX_TEXTS} texts", param=param)
