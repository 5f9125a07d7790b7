"""The saver of LangGraph: what a checkpointer has to do, whole graphs, and whose threads are whose."""

from __future__ import annotations

import asyncio
import operator
import threading
from collections import OrderedDict, defaultdict
from collections.abc import AsyncIterator, Iterator
from dataclasses import dataclass
from enum import IntEnum, StrEnum
from pathlib import Path
from typing import Any, TypedDict
from uuid import uuid4

import httpx
import pytest
from langchain_core.messages import AIMessage, HumanMessage
from langgraph.checkpoint.base import BaseCheckpointSaver, empty_checkpoint
from langgraph.checkpoint.conformance import checkpointer_test, validate
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.types import Command

from elf.client import AsyncClient, Client
from elf.client.errors import Unreachable
from elf.client.retries import NO_RETRIES
from elf.langgraph import ElfSaver, MigrationFault, migrate
from elf.langgraph.wire import Wire
from tests.adapters.saver_kit import graph_with, process_at, thread
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder

BEFORE = ["hi", "left", "right"]
WHOLE = [*BEFORE, "asked"]
FLIPPED = bytes(255 - byte for byte in range(256))
SPEECH = "said by \u00e9 " * 100


@dataclass
class Spoken:
    speech: str
    others: list[str]


class Flipping(CipherProtocol):
    """What it encrypts shows nothing."""

    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "flipped", plaintext.translate(FLIPPED)

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext.translate(FLIPPED)


PLAIN = JsonPlusSerializer(allowed_msgpack_modules=[Spoken])
HIDDEN = EncryptedSerializer(Flipping(), PLAIN)


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    """A whole service, shared by the tests: each has a tenant of its own."""
    with fresh_folder() as folder, served_beside_the_others(assistant_config(Path(folder))) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, tenant_id=uuid4().hex) as client:
        yield client


@pytest.fixture
async def async_client(address: str) -> AsyncIterator[AsyncClient]:
    async with AsyncClient(address, tenant_id=uuid4().hex) as client:
        yield client


@pytest.fixture
def anyio_backend() -> str:
    return "asyncio"  # LangGraph runs on nothing else


@pytest.mark.anyio
@pytest.mark.parametrize("is_async", [True, False], ids=["async client", "client in threads"])
async def test_it_does_all_that_the_conformance_package_asks(
    is_async: bool, async_client: AsyncClient, client: Client
) -> None:
    @checkpointer_test(name="ElfSaver")
    async def of_elf() -> AsyncIterator[BaseCheckpointSaver[Any]]:
        yield (
            ElfSaver(async_client=async_client, user_id="ana")
            if is_async
            else ElfSaver(client, user_id="ana")
        )

    report = await validate(of_elf)
    assert {name: result.failures for name, result in report.results.items() if not result.passed} == {}
    assert sum(result.tests_passed for result in report.results.values()) >= 81


def test_an_encrypting_serializer_leaves_no_readable_copy(client: Client) -> None:
    graph = graph_with(ElfSaver(client, user_id="ana", serde=HIDDEN))
    graph.invoke({"messages": ["something private"]}, thread())
    told = client.assistant.thread_checkpoint("t1", user_id="ana")
    assert "something private" not in str(told)
    assert told.checkpoint_data["encrypted"] is True
    assert graph.get_state(thread()).values["messages"][0] == "something private"


def test_a_graph_is_interrupted_resumed_and_taken_back_in_time(client: Client) -> None:
    graph = graph_with(ElfSaver(client, user_id="ana"))
    halted = graph.invoke({"messages": ["hi"]}, thread())
    assert halted["messages"] == BEFORE
    assert graph.get_state(thread()).next == ("ask",)
    done = graph_with(ElfSaver(client, user_id="ana")).invoke(Command(resume="yes"), thread())
    assert (done["messages"], done["approved"]) == (WHOLE, "yes")
    earlier = next(state for state in graph.get_state_history(thread()) if state.next == ("left", "right"))
    assert graph.invoke(None, earlier.config)["messages"] == BEFORE
    again = graph.invoke(Command(resume="no"), thread())
    assert (again["messages"], again["approved"]) == (WHOLE, "no")
    assert graph.get_state(earlier.config).values["messages"] == ["hi"]


@pytest.mark.anyio
async def test_an_async_graph_is_interrupted_and_resumed(async_client: AsyncClient) -> None:
    graph = graph_with(ElfSaver(async_client=async_client, user_id="ana"))
    assert (await graph.ainvoke({"messages": ["hi"]}, thread()))["messages"] == BEFORE
    done = await graph.ainvoke(Command(resume="yes"), thread())
    assert (done["messages"], done["approved"]) == (WHOLE, "yes")
    states = [state async for state in graph.aget_state_history(thread())]
    assert [len(state.values.get("messages", [])) for state in states] == [4, 3, 1, 1, 0]


def test_a_graph_goes_on_from_where_it_was_when_the_service_was_killed_between_its_steps() -> None:
    ran: list[str] = []
    killed = threading.Event()

    def kill(name: str) -> None:
        if name == "right":  # what it says comes too late
            killed.wait(timeout=60)
            return
        ran.append(name)
        if name == "left":
            process.kill()
            process.wait(timeout=60)
            killed.set()

    async def resume(url: str) -> Any:
        async with AsyncClient(url, tenant_id="acme") as client:
            graph = graph_with(ElfSaver(async_client=client, user_id="ana"), ran.append)
            return await graph.ainvoke(Command(resume="yes"), thread())

    with fresh_folder() as folder:
        config = assistant_config(Path(folder))
        with (
            process_at(config) as (process, url),
            Client(url, tenant_id="acme", retries=NO_RETRIES) as client,
        ):
            graph = graph_with(ElfSaver(client, user_id="ana"), kill)
            with pytest.raises(Unreachable):
                graph.invoke({"messages": ["hi"]}, thread(), durability="sync")
            assert ran == ["think", "left"]
        with process_at(config) as (_, url), Client(url, tenant_id="acme") as client:
            graph = graph_with(ElfSaver(client, user_id="ana"), ran.append)
            assert graph.get_state(thread()).next == ("left", "right")
            assert graph.invoke(None, thread())["messages"] == BEFORE
            assert sorted(ran) == ["left", "left", "right", "think"]
            done = asyncio.run(resume(url))
    assert (done["messages"], done["approved"], len(ran)) == (WHOLE, "yes", 4)


@pytest.mark.anyio
@pytest.mark.parametrize("size", [64 << 10, 1 << 20])
async def test_a_large_state_comes_back_as_it_was(
    client: Client, async_client: AsyncClient, size: int
) -> None:
    messages = ['\n"\\ \u00e9 \U0001f600 ' + "x" * 1000] * (size >> 10)
    for saver in (ElfSaver(client, user_id="ana"), ElfSaver(async_client=async_client, user_id="ana")):
        graph = graph_with(saver)
        done = await graph.ainvoke({"messages": messages}, thread())
        assert done["messages"] == [*messages, "left", "right"]
        assert (await graph.aget_state(thread())).values["messages"] == done["messages"]
        found = await saver.aget_tuple(thread())
        assert found is not None
        assert found.checkpoint["channel_values"]["messages"] == done["messages"]


@pytest.mark.parametrize(
    ("serde", "messages", "most"),
    [
        (PLAIN, [f"{number} {SPEECH}" for number in range(50)], 1.1),
        (PLAIN, [HumanMessage(f"{number} {SPEECH}") for number in range(50)], 1.5),
        (PLAIN, {"a": Spoken(SPEECH, ["\x00" + SPEECH, SPEECH]), 2: [SPEECH, {SPEECH}]}, 1.6),
        (HIDDEN, [SPEECH], 3.0),
    ],
    ids=["texts", "messages", "all sorts", "hidden"],
)
def test_a_state_is_sent_once_and_comes_back(
    client: Client, serde: SerializerProtocol, messages: Any, most: float
) -> None:
    """A request is as large as what the checkpoint says for readers, and little else."""
    saver = ElfSaver(client, user_id="ana", serde=serde)
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"messages": messages, "other": SPEECH}
    checkpoint["channel_versions"] = {"messages": "1", "other": "1"}
    place = thread("t1", checkpoint_ns="")
    saver.put(place, checkpoint, {}, checkpoint["channel_versions"])
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"] == checkpoint["channel_values"]
    call = Wire("acme", "ana", serde).put(place, checkpoint, {}, checkpoint["channel_versions"])
    assert len(call.content or b"") < most * len(serde.dumps_typed(checkpoint["channel_values"])[1])


class Text(str):
    """As the text of a message of LangChain is."""

    def __str__(self) -> str:
        raise AssertionError("this is no text to show")


class Whole(int): ...


class Real(float): ...


class Raw(bytes): ...


class Items(list[Any]): ...


class Table(dict[Any, Any]): ...


class Pair(tuple[Any, ...]): ...


class Color(StrEnum):
    RED = "red"


class Size(IntEnum):
    LARGE = 3


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        (AIMessage("hello").text, "hello"),
        (Text("hello"), "hello"),
        (Text(SPEECH), SPEECH),
        (Whole(7), 7),
        (Whole(2**60), 2**60),
        (Real(1.5), 1.5),
        (Raw(b"hello"), b"hello"),
        (Items([Text("a"), Whole(1)]), ["a", 1]),
        (Table({"a": Text("b")}), {"a": "b"}),
        (Pair((1, Text("b"))), [1, "b"]),
        ({"a": [Text("b"), {"c": Items([Table(d=Raw(b"e"))])}, Real(0.5)]}, {"a": ["b", {"c": [{"d": b"e"}]}, 0.5]}),
        ({Text("a"): 1, Whole(2): Text("c")}, {"a": 1, 2: "c"}),
        ({Real(2.5): 1, Raw(b"k"): 2}, {2.5: 1, b"k": 2}),
        (OrderedDict(a=1), {"a": 1}),
        (defaultdict(int, a=Whole(1)), {"a": 1}),
        ({Text("a")}, {"a"}),
        ([Color.RED, Size.LARGE, True], [Color.RED, Size.LARGE, True]),
        ([AIMessage(AIMessage("hello").text)], [AIMessage("hello")]),
        (
            AIMessage([{"type": "text", "text": Text("hi")}], additional_kwargs={"n": Whole(1)}, name=Text("a")),
            AIMessage([{"type": "text", "text": "hi"}], additional_kwargs={"n": 1}, name="a"),
        ),
    ],
    ids=lambda value: repr(value)[:40],
)  # fmt: skip
def test_a_value_of_a_subclass_comes_back_as_one_of_its_type(
    client: Client, given: Any, expected: Any
) -> None:
    answered = graph_of_one(ElfSaver(client, user_id="ana", types=[Color, Size]), given)
    state = answered.get_state(thread()).values["answer"]
    assert state == expected
    assert types_in(state) == types_in(expected)
    client.assistant.thread_checkpoint("t1", user_id="ana")


@pytest.mark.parametrize(
    "given", [AIMessage("hello").text, Whole(7), Raw(b"x"), Items([Text("a")]), Table(a=Text("b"))]
)
def test_a_value_of_a_subclass_is_kept_as_in_memory(client: Client, given: Any) -> None:
    ours, theirs = graph_of_one(ElfSaver(client, user_id="ana"), given), graph_of_one(InMemorySaver(), given)
    assert ours.get_state(thread()).values == theirs.get_state(thread()).values
    assert [one.values for one in ours.get_state_history(thread())] == [
        one.values for one in theirs.get_state_history(thread())
    ]


def graph_of_one(saver: BaseCheckpointSaver[Any], answer: Any) -> Any:
    """A graph whose one node has run, and answered with a value under a key of a subclass of str."""
    graph = StateGraph(Answered)
    graph.add_node("speak", lambda _: {Text("answer"): answer})
    graph.add_edge(START, "speak")
    graph.add_edge("speak", END)
    compiled = graph.compile(checkpointer=saver)
    compiled.invoke({"asked": Text("say something")}, thread("t1"))
    return compiled


class Answered(TypedDict, total=False):
    asked: str
    answer: Any


def types_in(value: Any) -> Any:
    """The types of a value and of what is in it."""
    if isinstance(value, dict):
        return [dict, *((types_in(key), types_in(item)) for key, item in value.items())]
    if isinstance(value, list | set):
        return [type(value), *map(types_in, value)]
    return type(value)


@pytest.mark.parametrize(
    ("left_out", "said", "at"),
    [
        ({"within": "conversation_history", "places": [0]}, {}, "places"),
        ({"within": "graph_state", "places": [0]}, {"graph_state": {"other": SPEECH}}, "places"),
        ({"within": "graph_state", "places": [0]}, {"graph_state": [SPEECH]}, "places"),
        ({"within": "graph_state", "places": [0, 0]}, {"graph_state": {"notes": SPEECH}}, "places"),
        ({"within": "memory_context", "places": [4]}, {"memory_context": SPEECH}, "places"),
        ({"within": "memory_context", "places": [2, 1]}, {"memory_context": [SPEECH, SPEECH]}, "places"),
        ({"within": "graph_state", "places": [-2]}, {"graph_state": {"notes": SPEECH}}, "places[0]"),
        ({"within": "step", "places": []}, {}, "within"),
    ],
)
def test_texts_that_are_left_out_are_those_of_the_summary(
    client: Client, left_out: dict[str, Any], said: dict[str, Any], at: str
) -> None:
    answer = put_notes(client, [left_out], said)
    assert (answer.status_code, answer.json()["fields"]) == (400, [f"$.values[0].left_out.{at}"])
    assert ElfSaver(client, user_id="ana").get_tuple(thread()) is None


def test_a_state_of_very_many_values_is_kept_whole_and_its_summary_names_it(client: Client) -> None:
    saver = ElfSaver(client, user_id="ana")
    many, few = [1] * 600_000, [1, 2]
    checkpoint = {**empty_checkpoint(), "channel_values": {"many": many, "few": few}}
    checkpoint["channel_versions"] = versions = {"many": "1", "few": "1"}
    saver.put(thread("t1", checkpoint_ns=""), checkpoint, {"step": 1}, versions)
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"] == {"many": many, "few": few}
    told = client.assistant.thread_checkpoint("t1", user_id="ana").checkpoint_data
    assert (told["left_out"], told["graph_state"]) == (["many"], {"few": few})


def test_a_text_of_the_summary_is_in_one_value_only(client: Client) -> None:
    once = {"within": "graph_state", "places": [1]}
    answer = put_notes(client, [once, once], {"graph_state": {"notes": SPEECH}})
    assert (answer.status_code, answer.json()["fields"]) == (400, ["$.values[1].left_out.within"])


def put_notes(client: Client, left_out: list[dict[str, Any]], said: dict[str, Any]) -> httpx.Response:
    """Put a checkpoint with three bytes of notes for each of what is left out of them."""
    typed = {"type": "bytes", "data": "aGkh"}
    values = [
        {"channel": "notes", "version": str(number), "left_out": one, **typed}
        for number, one in enumerate(left_out)
    ]
    body = {
        "tenant_id": client.calls.tenant_id, "user_id": "ana", "thread_id": "t1", "checkpoint_id": "1",
        "checkpoint": typed, "metadata": typed, "facts": {}, "versions": {"notes": "0"}, "values": values,
        "summary": said,
    }  # fmt: skip
    return httpx.post(f"{client.base_url}/v1/assistant/checkpoints", json=body)


def test_users_who_share_the_name_of_a_thread_share_nothing_else(client: Client) -> None:
    graph = graph_with(ElfSaver(client))
    ana, ben = thread(user_id="ana"), thread(user_id="ben")
    graph.invoke({"messages": ["hi"]}, ana)
    assert graph.get_state(ben).values == {}
    graph.invoke({"messages": ["hello"]}, ben)
    assert graph.get_state(ana).values["messages"][0] == "hi"
    saver = ElfSaver(client)
    with pytest.raises(ValueError, match="user_id"):
        saver.delete_thread("t1")
    ElfSaver(client, user_id="ben").delete_thread("t1")
    assert graph.get_state(ben).values == {}
    saver.delete_thread("t1")
    assert graph.get_state(ana).values == {}


def test_an_id_that_is_guessed_is_of_no_use_to_another_user_or_tenant(client: Client) -> None:
    graph_with(ElfSaver(client, user_id="ana")).invoke({"messages": ["hi"]}, thread())
    found = ElfSaver(client, user_id="ana").get_tuple(thread())
    assert found is not None
    run_id = "r1"
    ElfSaver(client, user_id="ana").put(
        thread("t2", checkpoint_ns=""), empty_checkpoint(), {"run_id": run_id}, {}
    )
    for other in (
        ElfSaver(client, user_id="ben"), ElfSaver(client.within(tenant_id=uuid4().hex), user_id="ana"),
    ):  # fmt: skip
        assert other.get_tuple(found.config) is None
        assert list(other.list(None)) == []
        other.delete_thread("t1")
        other.delete_for_runs([run_id])
        other.prune(["t1", "t2"], strategy="delete")
        other.copy_thread("t1", "mine")
        assert other.get_tuple(thread("mine")) is None
    mine = ElfSaver(client, user_id="ana")
    assert mine.get_tuple(found.config) == found
    assert mine.get_tuple(thread("t2")) is not None


def test_pruning_leaves_nothing_that_only_older_checkpoints_had(client: Client) -> None:
    saver = ElfSaver(client, user_id="ana")
    graph = graph_with(saver)
    graph.invoke({"messages": ["hi"]}, thread())
    before = saver.get_tuple(thread())
    saver.prune(["t1"])
    (left,) = saver.list(thread("t1", checkpoint_ns=""))
    assert left == before
    assert graph.invoke(Command(resume="yes"), thread())["messages"] == WHOLE


def test_pruning_keeps_what_a_channel_of_changes_is_put_together_from(client: Client) -> None:
    saver = ElfSaver(client, user_id="ana")
    config = thread("t1", checkpoint_ns="")
    for step in range(4):
        checkpoint = empty_checkpoint()
        version = saver.get_next_version(None, None)
        checkpoint["channel_versions"] = {"log": version}
        if step == 1:
            checkpoint["channel_values"] = {"log": ["seed"]}
        counters = {"log": (step, step)}
        config = saver.put(
            config, checkpoint, {"step": step, "counters_since_delta_snapshot": counters}, {"log": version}
        )
        saver.put_writes(config, [("log", step)], "task")
    was = saver.get_delta_channel_history(config=config, channels=["log"])
    assert (was["log"]["seed"], [write[2] for write in was["log"]["writes"]]) == (["seed"], [1, 2])
    saver.prune(["t1"])
    assert [one.metadata["step"] for one in saver.list(thread())] == [3, 2, 1]
    assert saver.get_delta_channel_history(config=config, channels=["log"]) == was


def test_a_filled_saver_in_memory_is_taken_over_whole(client: Client) -> None:
    source, target = InMemorySaver(), ElfSaver(client, user_id="ana")
    graph = graph_with(source)
    for name in ("t1", "t2"):
        graph.invoke({"messages": ["hi"]}, thread(name))
    graph.invoke(Command(resume="yes"), thread("t2"))
    migrated = migrate(source, target)
    assert (migrated.threads, migrated.checkpoints) == (2, len(list(source.list(None))))
    assert migrated.writes > 0
    assert migrate(source, target) == migrated
    for one in source.list(None):
        found = target.get_tuple(one.config)
        assert found is not None
        assert found == one
    assert graph_with(target).invoke(Command(resume="yes"), thread("t1"))["messages"] == WHOLE


def test_a_migration_that_loses_something_says_what(client: Client) -> None:
    class Forgetful(ElfSaver):
        def put(self, config: Any, checkpoint: Any, metadata: Any, new_versions: Any) -> Any:
            fewer = {name: version for name, version in new_versions.items() if name != "messages"}
            return super().put(config, checkpoint, metadata, fewer)

    source = InMemorySaver()
    graph_with(source).invoke({"messages": ["hi"]}, thread())
    with pytest.raises(MigrationFault, match=r"thread t1, .* channel messages differs"):
        migrate(source, Forgetful(client, user_id="ana"))


def test_a_thread_says_what_its_newest_checkpoint_says_to_readers_that_are_no_graph(client: Client) -> None:
    saver = ElfSaver(client, user_id="ana")
    graph_with(saver).invoke({"messages": ["hi"], "approved": "?"}, thread())
    newest = saver.get_tuple(thread())
    assert newest is not None
    with httpx.Client(base_url=client.base_url) as http:
        place = {"tenant_id": client.calls.tenant_id, "user_id": "ana"}
        path = "/v1/assistant/threads/t1/checkpoint"
        data = http.get(path, params=place).json()["checkpoint_data"]
        inner = next(one for one in saver.list(thread()) if one.config["configurable"]["checkpoint_ns"])
        assert operator.itemgetter("checkpoint_id", "step", "graph_state", "conversation_history")(data) == (
            newest.checkpoint["id"], 2, {"approved": "?", "thought": "of hi"}, BEFORE,
        )  # fmt: skip
        (state,) = data["agent_states"].values()
        assert state["checkpoint_id"] == inner.checkpoint["id"]
        assert http.post(path, json={**place, "checkpoint_data": {"a": 1}}).status_code == 409
        saver.delete_thread("t1")
        assert http.get(path, params=place).status_code == 404
        kept = http.post(path, json={**place, "checkpoint_data": {"a": 1}}).json()
        assert (kept["checkpoint_data"], kept["thread_id"]) == ({"a": 1}, "t1")
        assert http.get(path, params=place | {"user_id": "ben"}).status_code == 404


def test_sync_methods_need_a_client(address: str) -> None:
    saver = ElfSaver(async_client=AsyncClient(address, tenant_id="acme"), user_id="ana")
    with pytest.raises(RuntimeError, match="client"):
        saver.get_tuple(thread())
