"""What the tests of the providers share: configs, a key to look for, a network that follows a script."""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from typing import Any

import httpx

from elf.config.model import EmbeddingProvider, ExtractorProvider, RerankProvider
from elf.providers.chat import HttpChat
from elf.providers.embedding import HttpEmbedder
from elf.providers.http import ProviderHttp
from elf.providers.rerank import HttpReranker

KEY = "sk-test-0123456789-never-shown"

Step = httpx.Response | Exception | Callable[[httpx.Request], Awaitable[httpx.Response]]


def embedding_config(**changes: Any) -> EmbeddingProvider:
    values = _common("embeddings") | {"model": "small-model", "dimensions": 3} | changes
    return EmbeddingProvider(**values)


def rerank_config(**changes: Any) -> RerankProvider:
    return RerankProvider(**(_common("rerank") | {"model": "rank-model"} | changes))


def chat_config(**changes: Any) -> ExtractorProvider:
    values = _common("chat/completions") | {"model": "chat-model", "temperature": 0.25} | changes
    return ExtractorProvider(**values)


def _common(endpoint: str) -> dict[str, Any]:
    return {
        "provider_id": "acme",
        "api_base": "https://models.example/api",
        "api_key": KEY,
        "path": f"/v1/{endpoint}",
        "timeout_ms": 10_000,
        "default_headers": {},
    }


class ScriptedNetwork(httpx.MockTransport):
    """Answers each request with the next step of a script, the last one for ever, and keeps the requests."""

    def __init__(self, *steps: Step) -> None:
        super().__init__(self._answer)
        self._steps = steps
        self.requests: list[httpx.Request] = []

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.content) for request in self.requests]

    async def _answer(self, request: httpx.Request) -> httpx.Response:
        step = self._steps[min(len(self.requests), len(self._steps) - 1)]
        self.requests.append(request)
        if isinstance(step, Exception):
            raise step
        if isinstance(step, httpx.Response):
            return httpx.Response(step.status_code, headers=step.headers, content=step.content)
        return await step(request)


def http_over(network: httpx.AsyncBaseTransport, **changes: Any) -> ProviderHttp:
    return ProviderHttp("providers.embedding", embedding_config(**changes), transport=network)


async def post(http: ProviderHttp, body: object) -> bytes:
    """Post, and take a small answer as it is."""
    return await http.post(body, bytes, most_bytes=4096)


def embedder_over(network: httpx.AsyncBaseTransport, **changes: Any) -> HttpEmbedder:
    return HttpEmbedder(embedding_config(**changes), http_over(network, **changes))


def reranker_over(network: httpx.AsyncBaseTransport, **changes: Any) -> HttpReranker:
    config = rerank_config(**changes)
    return HttpReranker(config, ProviderHttp("providers.rerank", config, transport=network))


def chat_over(network: httpx.AsyncBaseTransport, **changes: Any) -> HttpChat:
    config = chat_config(**changes)
    return HttpChat(config, ProviderHttp("providers.llm_extractor", config, transport=network))


def completion(content: object, **message: object) -> httpx.Response:
    choice = {
        "index": 0,
        "message": {"role": "assistant", "content": content, **message},
        "finish_reason": "stop",
    }
    return httpx.Response(200, json={"id": "c-1", "object": "chat.completion", "choices": [choice]})


def openai_answer(vectors: Sequence[object]) -> httpx.Response:
    data = [{"object": "embedding", "index": index, "embedding": one} for index, one in enumerate(vectors)]
    return httpx.Response(200, json={"object": "list", "data": data, "usage": {"total_tokens": 1}})
