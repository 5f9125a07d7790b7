"""The packaged model over HTTP: OpenAI's and Cohere's shapes, and a clear answer to every bad request."""

from __future__ import annotations

import base64
import re
from collections.abc import AsyncIterator
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
import structlog

from elf.providers.local.app import LocalApp
from elf.providers.local.encoder import Encoder
from elf.providers.local.wire import MAX_BODY_BYTES

pytestmark = pytest.mark.anyio

MODEL = "all-MiniLM-L6-v2"


@pytest.fixture
async def client(encoder: Encoder) -> AsyncIterator[httpx.AsyncClient]:
    transport = httpx.ASGITransport(app=LocalApp(encoder))
    async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
        yield client


async def post(client: httpx.AsyncClient, path: str, **body: Any) -> Any:
    response = await client.post(path, json={"model": MODEL, **body})
    assert response.status_code == 200, response.text
    assert response.headers["content-type"] == "application/json"
    assert int(response.headers["content-length"]) == len(response.content)
    return response.json()


async def test_embeddings_have_the_shape_of_openai(client: httpx.AsyncClient) -> None:
    answer = await post(client, "/v1/embeddings", input=["one", "two"], dimensions=384)
    assert answer["object"] == "list"
    assert answer["model"] == MODEL
    assert [item["index"] for item in answer["data"]] == [0, 1]
    assert {item["object"] for item in answer["data"]} == {"embedding"}
    assert all(len(item["embedding"]) == 384 for item in answer["data"])


async def test_base64_and_floats_are_the_same_numbers(client: httpx.AsyncClient) -> None:
    floats = await post(client, "/v1/embeddings", input="one text", encoding_format="float")
    coded = await post(client, "/v1/embeddings", input="one text", encoding_format="base64")
    numbers = np.frombuffer(base64.b64decode(coded["data"][0]["embedding"]), dtype="<f4")
    np.testing.assert_allclose(numbers, floats["data"][0]["embedding"], atol=1e-6)


async def test_rerank_lists_the_best_document_first(client: httpx.AsyncClient) -> None:
    documents = ["Stocks fell by two percent.", "The heron is a bird that eats fish.", ""]
    answer = await post(client, "/v1/rerank", query="Which bird eats fish?", documents=documents)
    assert [result["index"] for result in answer["results"]] == [1, 0, 2]
    scores = [result["relevance_score"] for result in answer["results"]]
    assert scores == sorted(scores, reverse=True)
    assert all(-1 <= score <= 1 for score in scores)


async def test_rerank_keeps_the_best_of_top_n(client: httpx.AsyncClient) -> None:
    answer = await post(client, "/v1/rerank", query="fish", documents=["cars", "fish", "soup"], top_n=1)
    assert [result["index"] for result in answer["results"]] == [1]


async def test_rerank_uses_the_tokens_of_texts_embedded_before(
    client: httpx.AsyncClient, encoder: Encoder
) -> None:
    await post(client, "/v1/embeddings", input=["the query", "a document"])
    await post(client, "/v1/rerank", query="the query", documents=["a document"])
    statistics = encoder.token_cache.statistics()
    assert (statistics.hits, statistics.misses) == (2, 0)


@pytest.mark.parametrize(
    ("path", "body", "problem"),
    [
        ("embeddings", {"input": []}, "input: must hold 1 to 2048 texts"),
        ("embeddings", {"input": ["x"] * 2049}, "input: must hold 1 to 2048 texts"),
        ("embeddings", {"input": ["x", 1]}, r"\$\.input\[1\]"),
        ("embeddings", {}, "missing required field `input`"),
        ("embeddings", {"input": "x", "dimensions": 256}, "dimensions: this model has 384"),
        ("embeddings", {"input": "x", "encoding_format": "hex"}, "encoding_format"),
        ("embeddings", {"input": "x", "inputs": "y"}, "unknown field `inputs`"),
        ("embeddings", {"input": "x", "model": "gpt"}, "model: there is no model of this name"),
        ("rerank", {"query": "q", "documents": []}, "documents: must hold 1 to 2048 texts"),
        ("rerank", {"query": "q", "documents": "d"}, r"\$\.documents"),
        ("rerank", {"documents": ["d"]}, "missing required field `query`"),
        ("rerank", {"query": "q", "documents": ["d"], "top_n": 0}, "top_n: must be at least 1"),
        (
            "rerank",
            {"query": "q", "documents": ["d"], "model": "gpt"},
            "model: there is no model of this name",
        ),
    ],
)
async def test_a_wrong_request_is_told_what_is_wrong(
    client: httpx.AsyncClient, path: str, body: dict[str, Any], problem: str
) -> None:
    response = await client.post(f"/v1/{path}", json={"model": MODEL, **body})
    assert response.status_code == 400
    error = response.json()["error"]
    assert set(error) == {"message", "type", "param", "code"}
    assert error["type"] == "invalid_request_error"
    assert re.search(problem, error["message"])


@pytest.mark.parametrize("content", [b"", b"{", b"[]", b"\xff\xfe", b'{"model": "\\ud800"}', b"[" * 99_999])
async def test_what_is_not_the_json_expected_is_refused(client: httpx.AsyncClient, content: bytes) -> None:
    for path in ("/v1/embeddings", "/v1/rerank"):
        response = await client.post(path, content=content)
        assert response.status_code == 400
        assert "not the JSON expected" in response.json()["error"]["message"]


async def test_another_path_is_not_found(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/models", json={})
    assert response.status_code == 404
    assert "/v1/embeddings, /v1/rerank" in response.json()["error"]["message"]


async def test_another_method_is_not_allowed(client: httpx.AsyncClient) -> None:
    response = await client.get("/v1/rerank")
    assert response.status_code == 405
    assert response.headers["allow"] == "POST"


async def test_a_body_too_large_is_refused(client: httpx.AsyncClient) -> None:
    response = await client.post("/v1/embeddings", content=b" " * (MAX_BODY_BYTES + 1))
    assert response.status_code == 413


class BrokenEncoder(Encoder):
    def __init__(self) -> None:
        """Needs none of an encoder's parts, for it fails at once."""

    async def sentences(self, texts: object) -> Any:
        raise MemoryError("secret text of a note")


async def test_a_fault_of_the_model_is_a_500_that_tells_no_text() -> None:
    transport = httpx.ASGITransport(app=LocalApp(BrokenEncoder()))
    with structlog.testing.capture_logs() as logs:
        async with httpx.AsyncClient(transport=transport, base_url="http://local") as client:
            response = await client.post("/v1/embeddings", json={"model": MODEL, "input": "x"})
    assert response.status_code == 500
    assert response.json()["error"] == {
        "message": "the local provider failed: MemoryError",
        "type": "server_error",
        "param": None,
        "code": None,
    }
    assert [log["event"] for log in logs] == ["local_provider.request_failed"]


async def test_the_lifespan_protocol_is_spoken(encoder: Encoder) -> None:
    received = iter([{"type": "lifespan.startup"}, {"type": "lifespan.shutdown"}])
    sent: list[str] = []

    async def receive() -> dict[str, Any]:
        return next(received)

    async def send(message: Any) -> None:
        sent.append(message["type"])

    with anyio.fail_after(5):
        await LocalApp(encoder)({"type": "lifespan"}, receive, send)
    assert sent == ["lifespan.startup.complete", "lifespan.shutdown.complete"]


async def test_websockets_are_refused(encoder: Encoder) -> None:
    async def unused(*_: Any) -> Any:
        raise AssertionError

    with pytest.raises(ValueError, match="http only"):
        await LocalApp(encoder)({"type": "websocket", "path": "/"}, unused, unused)


async def test_a_client_that_goes_away_is_not_waited_for(encoder: Encoder) -> None:
    sent: list[Any] = []

    async def receive() -> dict[str, Any]:
        return {"type": "http.disconnect"}

    async def send(message: Any) -> None:
        sent.append(message)

    scope = {"type": "http", "method": "POST", "path": "/v1/rerank"}
    with anyio.fail_after(5):
        await LocalApp(encoder)(scope, receive, send)
    assert sent[0]["status"] == 400
