"""One contract over every wire format that the providers understand, and the packaged model."""

from __future__ import annotations

import base64
import json
import math
import random
from collections.abc import Callable
from typing import Any

import anyio
import httpx
import numpy as np
import pytest
import structlog
from blake3 import blake3
from hypothesis import given
from hypothesis import strategies as st

from elf.config import load
from elf.config.example import example_file
from elf.config.optional import LocalModel
from elf.core.errors import ProviderBroken, ProviderRefused
from elf.providers.local.ports import LocalPorts
from elf.providers.port import Embedder, Reranker
from tests.model_caches import linked_cache
from tests.providers_kit import ScriptedNetwork, embedder_over, reranker_over

pytestmark = pytest.mark.anyio

Answer = Callable[[Any], object]
EXAMPLE = example_file()


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"


@pytest.fixture(scope="session")
def local_ports(tmp_path_factory: pytest.TempPathFactory) -> LocalPorts:
    folder = linked_cache(tmp_path_factory.mktemp("model"))
    config = LocalModel(cache_dir=str(folder), threads=2, token_cache_mb=16)
    return LocalPorts.open(config, words_per_text=254)


def served(answer: Answer) -> ScriptedNetwork:
    """A provider that answers every request with the JSON that `answer` makes of the request's body."""

    async def respond(request: httpx.Request) -> httpx.Response:
        # dumps writes NaN and Infinity as Python servers do.
        return httpx.Response(200, content=json.dumps(answer(json.loads(request.content))))

    return ScriptedNetwork(respond)


def vector_of(text: str) -> list[float]:
    """A vector of three numbers that float32 holds exactly."""
    return [byte / 256 for byte in blake3(text.encode()).digest(3)]


def as_base64(vector: list[float]) -> str:
    return base64.b64encode(np.asarray(vector, dtype="<f4").tobytes()).decode()


def items(body: Any) -> list[dict[str, Any]]:
    return [{"index": place, "embedding": vector_of(text)} for place, text in enumerate(body["input"])]


def floats(body: Any) -> object:
    return {"object": "list", "data": items(body), "model": "m", "usage": {"prompt_tokens": 1}}


def shuffled_base64(body: Any) -> object:
    data = [item | {"embedding": as_base64(item["embedding"])} for item in items(body)]
    random.Random(1).shuffle(data)
    return {"data": data}


def reversed_floats(body: Any) -> object:
    return {"data": items(body)[::-1]}


@pytest.fixture(
    params=[floats, reversed_floats, shuffled_base64, "local"], ids=lambda p: getattr(p, "__name__", p)
)
def embedder(request: pytest.FixtureRequest) -> Embedder:
    if request.param == "local":
        ports: LocalPorts = request.getfixturevalue("local_ports")
        return ports.embedder(load(EXAMPLE).providers.embedding, None)
    return embedder_over(served(request.param))


async def test_every_text_gets_its_own_vector_in_order(embedder: Embedder) -> None:
    texts = [f"The {animal} sleeps." for animal in ("cat", "dog", "owl", "cat", "fox")]
    matrix = await embedder.embed(texts)
    assert matrix.dtype == np.float32
    assert matrix.shape == (5, embedder.dimensions)
    assert np.isfinite(matrix).all()
    for place, text in enumerate(texts):
        np.testing.assert_allclose(matrix[place], (await embedder.embed([text]))[0], atol=1e-6)
    assert np.abs(matrix[0] - matrix[1]).max() > 0.01


async def test_more_texts_than_a_batch_keep_their_order(embedder: Embedder) -> None:
    texts = [f"Number {number}" for number in range(150)]
    matrix = await embedder.embed(texts)
    np.testing.assert_allclose(matrix[::-1], await embedder.embed(texts[::-1]), atol=1e-6)


async def test_no_texts_are_an_empty_matrix(embedder: Embedder) -> None:
    assert (await embedder.embed([])).shape == (0, embedder.dimensions)


async def test_the_version_names_provider_model_and_dimensions() -> None:
    embedder = embedder_over(served(floats), provider_id="acme", model="m:1", dimensions=3)
    assert embedder.version == "acme:m:1:3"


def relevance(document: str) -> float:
    return round(len(document) / 100, 2)


def cohere(body: Any) -> object:
    scores = [{"index": n, "relevance_score": relevance(text)} for n, text in enumerate(body["documents"])]
    random.Random(2).shuffle(scores)
    return {"id": "1", "results": scores, "meta": {}}


def voyage(body: Any) -> object:
    scores = [{"index": n, "relevance_score": relevance(text)} for n, text in enumerate(body["documents"])]
    return {"object": "list", "data": sorted(scores, key=lambda one: -one["relevance_score"])}


@pytest.fixture(params=[cohere, voyage, "local"], ids=lambda p: getattr(p, "__name__", p))
def reranker(request: pytest.FixtureRequest) -> Reranker:
    if request.param == "local":
        ports: LocalPorts = request.getfixturevalue("local_ports")
        return ports.reranker(load(EXAMPLE).providers.rerank, None)
    return reranker_over(served(request.param))


async def test_scores_are_aligned_to_the_documents(reranker: Reranker) -> None:
    documents = ["yes", "The heron is a bird that eats fish.", "The stock fell by two percent today, again."]
    scores = await reranker.rerank("Which bird eats fish?", documents)
    assert len(scores) == 3
    # A score may depend on the other candidates, never on the order they come in.
    backwards = await reranker.rerank("Which bird eats fish?", documents[::-1])
    assert backwards == pytest.approx(scores[::-1], abs=1e-5)


async def test_no_documents_are_no_scores(reranker: Reranker) -> None:
    assert await reranker.rerank("anything", []) == []


async def test_the_embedding_request_is_exactly_the_specs_body() -> None:
    network = served(floats)
    await embedder_over(network).embed(["a", "b"])
    assert network.bodies == [{"model": "small-model", "input": ["a", "b"], "dimensions": 3}]


async def test_the_rerank_request_is_exactly_the_specs_body() -> None:
    network = served(cohere)
    await reranker_over(network).rerank("q", ["a", "b"])
    assert network.bodies == [{"model": "rank-model", "query": "q", "documents": ["a", "b"]}]


@given(order=st.permutations(range(7)), coded=st.lists(st.booleans(), min_size=7, max_size=7))
def test_any_order_and_mix_of_codings_gives_the_same_matrix(order: list[int], coded: list[bool]) -> None:
    def mixed(body: Any) -> object:
        data = items(body)
        for item, code in zip(data, coded, strict=True):
            item["embedding"] = as_base64(item["embedding"]) if code else item["embedding"]
        return {"data": [data[place] for place in order]}

    texts = [f"text {number}" for number in range(7)]
    matrix = anyio.run(embedder_over(served(mixed)).embed, texts)
    np.testing.assert_array_equal(matrix, np.array([vector_of(text) for text in texts], dtype=np.float32))


ONE = [0.25, 0.5, 0.75]


@pytest.mark.parametrize(
    "data",
    [
        [(0, ONE)],
        [(0, ONE), (1, ONE), (2, ONE)],
        [(0, ONE), (0, ONE)],
        [(1, ONE), (2, ONE)],
        [(0, ONE), (-1, ONE)],
    ],
)
async def test_an_answer_without_one_vector_for_each_text_is_broken(
    data: list[tuple[object, object]],
) -> None:
    with pytest.raises(ProviderBroken, match="one vector for each of 2"):
        await embedder_over(served(answering(data))).embed(["a", "b"])


def answering(data: list[tuple[object, object]]) -> Answer:
    answer = {"data": [{"index": index, "embedding": vector} for index, vector in data]}
    return lambda body: answer


NO_VECTORS: list[tuple[object, str]] = [
    ([0.5, 0.5], "length 2 instead of 3"),
    ([], "length 0 instead of 3"),
    ([0.5] * 1000, "longer than 3 numbers"),
    (as_base64([1.0] * 4), "length 4 instead of 3"),
    ("AAAA", "not base64 of float32"),
    ("*not base64*", "not base64 of float32"),
    ("é", "not base64 of float32"),
    (["1", "2", "3"], "no list of numbers"),
    ([math.nan, 0.0, 0.0], "no list of numbers"),
    ([math.inf, 0.0, 0.0], "no list of numbers"),
    ([None, 0.0, 0.0], "no list of numbers"),
    (None, "no list of numbers"),
    ({}, "no list of numbers"),
]
NO_DIRECTION: list[object] = [
    [1e39, 0.0, 0.0],
    [1e308, 1e308, 1e308],
    [0.0, 0.0, 0.0],
    [1e-44, 1e-44, 1e-44],
    [1e-22, 0.0, 0.0],
    [1e38, 1e38, 1e38],
    as_base64([math.nan, 0.0, 0.0]),
    as_base64([math.inf, 0.0, 0.0]),
    as_base64([0.0, 0.0, 0.0]),
]


@pytest.mark.parametrize("bad", [*(vector for vector, _ in NO_VECTORS), *NO_DIRECTION])
async def test_what_is_no_vector_costs_its_own_text_alone(bad: object) -> None:
    matrix = await embedder_over(served(answering([(0, ONE), (2, bad), (1, ONE)]))).embed(["a", "b", "c"])
    assert np.isnan(matrix[2]).all()
    np.testing.assert_array_equal(matrix[:2], np.array([ONE, ONE], dtype=np.float32))


@pytest.mark.parametrize(("bad", "problem"), NO_VECTORS)
async def test_an_answer_without_any_vector_is_broken(bad: object, problem: str) -> None:
    with pytest.raises(ProviderBroken, match=problem):
        await embedder_over(served(answering([(0, bad), (1, bad)]))).embed(["a", "b"])


@pytest.mark.parametrize("bad", NO_DIRECTION)
async def test_vectors_without_a_direction_are_no_fault_of_the_provider(bad: object) -> None:
    matrix = await embedder_over(served(answering([(0, bad)]))).embed(["a"])
    assert np.isnan(matrix).all()


async def test_texts_without_a_vector_are_told_of_once_and_without_the_texts() -> None:
    embedder = embedder_over(served(answering([(0, ONE), (1, [0.0, 0.0, 0.0])])))
    with structlog.testing.capture_logs() as logs:
        for _ in range(3):
            await embedder.embed(["a canary", "another canary"])
    assert [log["problem"] for log in logs if log["event"] == "provider.trouble"] == [
        "1 of 2 texts got no vector that can be compared"
    ]
    assert "canary" not in f"{logs}"


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"<html>busy</html>",
        b"[]",
        b"{}",
        b'{"data": 1}',
        b"\xff",
        b'{"data": "\xff"}',
        b"[" * 60_000,
        b'{"data": ' + b"[" * 60_000,
        b'{"data": [{"index": ' + b"1" * 60_000 + b', "embedding": [1, 2, 3]}]}',
        b'{"data": [' + b"{}," * 20_000 + b"{}]}",
        b"NaN",
    ],
    ids=lambda content: repr(content[:24]),
)
async def test_an_answer_of_another_shape_is_broken(content: bytes) -> None:
    network = ScriptedNetwork(httpx.Response(200, content=content))
    with pytest.raises(ProviderBroken, match=r"providers.embedding \(acme\) is not an answer"):
        await embedder_over(network).embed(["a"])
    with pytest.raises(ProviderBroken, match=r"providers.rerank \(acme\) (is not an answer|holds neither)"):
        await reranker_over(network).rerank("q", ["a"])


async def test_a_number_of_any_length_is_read_in_no_time_or_not_at_all() -> None:
    digits = "1" * 1500
    answer = f'{{"data": [{{"index": 0, "embedding": [0.{digits}, {digits}, 1]}}]}}'.encode()
    with pytest.raises(ProviderBroken, match=r"longer than 3 numbers|no list of numbers"):
        await embedder_over(ScriptedNetwork(httpx.Response(200, content=answer))).embed(["a"])


@pytest.mark.parametrize("size", [100_000, 10_000_000])
async def test_more_bytes_than_was_asked_for_are_not_taken(size: int) -> None:
    network = ScriptedNetwork(httpx.Response(200, content=b'{"data": []}' + b" " * size))
    with pytest.raises(ProviderBroken, match="larger than"):
        await embedder_over(network).embed(["a"])
    with pytest.raises(ProviderBroken, match="larger than"):
        await reranker_over(network).rerank("q", ["a"])


async def test_an_answer_may_be_pretty_printed_and_as_long_as_what_was_asked_for() -> None:
    vector = [-0.012345678901234567] * 1536

    def answer(body: Any) -> bytes:
        data = [{"object": "embedding", "index": n, "embedding": vector} for n in range(len(body["input"]))]
        return json.dumps({"data": data}, indent=2).encode()

    async def respond(request: httpx.Request) -> httpx.Response:
        return httpx.Response(200, content=answer(json.loads(request.content)))

    matrix = await embedder_over(ScriptedNetwork(respond), dimensions=1536).embed(["text"] * 150)
    assert matrix.shape == (150, 1536)
    assert not np.isnan(matrix).any()


async def test_scores_may_come_with_the_documents_they_are_of() -> None:
    documents = ["é" * 8000] * 20

    def answer(body: Any) -> object:
        results = [
            {"index": n, "relevance_score": 0.5, "document": {"text": text}}
            for n, text in enumerate(body["documents"])
        ]
        return {"results": results}

    assert await reranker_over(served(answer)).rerank("q", documents) == [0.5] * 20


async def test_longer_vectors_come_in_smaller_batches() -> None:
    def answer(body: Any) -> object:
        return {"data": [{"index": n, "embedding": [0.5] * 4096} for n in range(len(body["input"]))]}

    network = served(answer)
    await embedder_over(network, dimensions=4096).embed(["text"] * 60)
    assert sorted(len(body["input"]) for body in network.bodies) == [12, 24, 24]


@pytest.mark.parametrize("missing", [None, math.nan, math.inf, -math.inf, "absent"])
async def test_a_score_that_is_missing_or_not_finite_is_nan(missing: object) -> None:
    item = {"index": 1} if missing == "absent" else {"index": 1, "relevance_score": missing}
    answer = {"results": [item, {"index": 0, "relevance_score": 0.5}]}
    scores = await reranker_over(served(lambda _: answer)).rerank("q", ["a", "b", "c"])
    assert scores[0] == 0.5
    assert math.isnan(scores[1])
    assert math.isnan(scores[2])


@pytest.mark.parametrize("indexes", [[2], [-1], [0, 0]])
async def test_a_wrong_index_of_a_score_breaks_the_answer(indexes: list[int]) -> None:
    answer = {"data": [{"index": index, "relevance_score": 0.5} for index in indexes]}
    with pytest.raises(ProviderBroken, match="wrongly"):
        await reranker_over(served(lambda _: answer)).rerank("q", ["a", "b"])


async def test_a_batch_is_bounded_in_texts_and_in_bytes() -> None:
    network = served(floats)
    texts = ["x" * 200_000, "y" * 200_000, "z" * 300_000, *(f"short {number}" for number in range(130))]
    await embedder_over(network).embed(texts)
    batches = sorted((body["input"] for body in network.bodies), key=lambda batch: texts.index(batch[0]))
    assert [len(batch) for batch in batches] == [1, 1, 1, 64, 64, 2]
    assert [text for batch in batches for text in batch] == texts


async def test_only_a_few_batches_of_a_call_are_in_flight_at_once() -> None:
    waiting = 0
    most = 0
    full = anyio.Event()

    async def wait_for_company(request: httpx.Request) -> httpx.Response:
        nonlocal waiting, most
        waiting += 1
        most = max(most, waiting)
        if waiting == 4:
            full.set()
        await full.wait()
        await anyio.lowlevel.checkpoint()
        waiting -= 1
        return httpx.Response(200, content=json.dumps(floats(json.loads(request.content))))

    with anyio.fail_after(5):
        await embedder_over(ScriptedNetwork(wait_for_company)).embed(["text"] * 640)
    assert most == 4


async def test_a_batch_that_fails_ends_the_others_and_is_the_error() -> None:
    async def fail_or_hang(request: httpx.Request) -> httpx.Response:
        if "poison" in json.loads(request.content)["input"]:
            return httpx.Response(400)
        await anyio.sleep_forever()
        raise AssertionError

    with anyio.fail_after(5), pytest.raises(ProviderRefused, match="HTTP 400"):
        await embedder_over(ScriptedNetwork(fail_or_hang)).embed(["fine"] * 100 + ["poison"])
