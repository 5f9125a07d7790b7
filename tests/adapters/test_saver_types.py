"""Which types come back from a checkpoint: those of the libraries, of a graph's state, and what is registered."""

from __future__ import annotations

import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from uuid import uuid4

import numpy as np
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.checkpoint.serde.base import CipherProtocol, SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from pydantic import BaseModel

from elf.client import Client
from elf.langgraph import ElfSaver, migrate
from tests.adapters.kept_types import VALUES, Color, Model, Nested, Old, Point, Tree
from tests.adapters.saver_kit import thread
from tests.db.assistant.assistant_kit import assistant_config, served_beside_the_others
from tests.folders import fresh_folder

STRICT = JsonPlusSerializer(allowed_msgpack_modules=None)


class State(BaseModel):
    point: Point
    tree: Tree
    nested: Nested | None = None
    colors: list[Color] = []
    unknown: Any = None


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    with fresh_folder() as folder, served_beside_the_others(assistant_config(Path(folder))) as url:
        yield url


@pytest.fixture
def client(address: str) -> Iterator[Client]:
    with Client(address, tenant_id=uuid4().hex) as client:
        yield client


def kept(saver: ElfSaver, value: Any) -> None:
    checkpoint = empty_checkpoint()
    checkpoint["channel_values"] = {"value": value}
    checkpoint["channel_versions"] = {"value": "1"}
    place = saver.put(thread("t1", checkpoint_ns=""), checkpoint, {}, {"value": "1"})
    saver.put_writes(place, [("value", [value])], "task")


def test_there_are_many_types() -> None:
    assert len(VALUES) >= 60


@pytest.mark.parametrize("name", VALUES)
def test_a_value_comes_back_as_it_was(client: Client, name: str) -> None:
    value, types = VALUES[name]
    kept(ElfSaver(client, user_id="ana"), value)
    found = ElfSaver(client, user_id="ana", types=types).get_tuple(thread())
    assert found is not None
    assert found.pending_writes is not None
    for back in (found.checkpoint["channel_values"].get("value"), *found.pending_writes[0][2]):
        if isinstance(value, np.ndarray):
            assert (back.dtype, back.shape) == (value.dtype, value.shape)
            assert np.array_equal(back, value)
        else:
            assert back == value
            assert isinstance(value, type(back)) or name == "bytearray"  # within a list it is bytes
    if types:
        with pytest.raises(ValueError, match=f"the type {types[0].__module__}") as refused:
            ElfSaver(client, user_id="ana").get_tuple(thread())
        assert "types=[" in str(refused.value)


def state_graph(saver: ElfSaver) -> Any:
    graph = StateGraph(State)
    graph.add_node("node", lambda state: {"colors": [Color.RED], "unknown": state.unknown})
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(checkpointer=saver)


def test_types_of_the_state_of_a_graph_need_no_word(client: Client) -> None:
    begun = {"point": Point(1), "tree": Tree(color=Color.RED), "nested": Nested(inner=Model(name="a"))}
    state_graph(ElfSaver(client, user_id="ana")).invoke(begun, thread())
    graph = state_graph(ElfSaver(client, user_id="ana"))
    values = graph.get_state(thread()).values
    assert values == begun | {"colors": [Color.RED], "unknown": None}
    graph.invoke({"unknown": Old(name="a")}, thread())
    with pytest.raises(ValueError, match=r"kept_types\.Old"):
        graph.get_state(thread())
    registered = state_graph(ElfSaver(client, user_id="ana", types=[Old]))
    assert registered.get_state(thread()).values["unknown"] == Old(name="a")


def test_other_savers_decode_as_before() -> None:
    """What has `compile()` name types changes nothing for a saver that decodes all of them."""
    saver = InMemorySaver()
    graph = state_graph(saver)  # type: ignore[arg-type]
    begun = {"point": Point(1), "tree": Tree(color=Color.RED), "unknown": Old(name="a")}
    graph.invoke(begun, thread())
    assert graph.checkpointer is saver
    assert graph.get_state(thread()).values["unknown"] == Old(name="a")


def test_a_migration_tells_which_type_it_needs(client: Client) -> None:
    source = InMemorySaver()
    state_graph(source).invoke(  # type: ignore[arg-type]
        {"point": Point(1), "tree": Tree(color=Color.RED)}, thread()
    )
    with pytest.raises(ValueError, match=r"kept_types\.(Point|Tree|Color)"):
        migrate(source, ElfSaver(client, user_id="ana"))
    migrated = migrate(source, ElfSaver(client, user_id="ana", types=[Point, Tree, Color]))
    assert (migrated.threads, migrated.checkpoints) == (1, len(list(source.list(None))))


class Pickling(SerializerProtocol):
    def dumps_typed(self, obj: Any) -> tuple[str, bytes]:
        return "pickle", pickle.dumps(obj)

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


class Overriding(JsonPlusSerializer):
    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        return pickle.loads(data[1])


class Bare(CipherProtocol):
    def encrypt(self, plaintext: bytes) -> tuple[str, bytes]:
        return "bare", plaintext

    def decrypt(self, ciphername: str, ciphertext: bytes) -> bytes:
        return ciphertext


LAX: dict[str, tuple[Callable[[], Any], str]] = {
    "by default": (JsonPlusSerializer, "allowed_msgpack_modules=True"),
    "all types": (lambda: JsonPlusSerializer(allowed_msgpack_modules=True), "allowed_msgpack_modules=True"),
    "all types of JSON": (
        lambda: JsonPlusSerializer(allowed_msgpack_modules=None, allowed_json_modules=True),
        "allowed_json_modules=True",
    ),
    "pickle": (
        lambda: JsonPlusSerializer(allowed_msgpack_modules=None, pickle_fallback=True), "pickle_fallback=True",
    ),
    "a hook": (
        lambda: JsonPlusSerializer(allowed_msgpack_modules=None, __unpack_ext_hook__=lambda code, data: data),
        "__unpack_ext_hook__",
    ),
    "another class": (Pickling, "Pickling"),
    "a subclass": (lambda: Overriding(allowed_msgpack_modules=None), "Overriding"),
    "encrypted": (lambda: EncryptedSerializer(Bare()), "allowed_msgpack_modules=True"),
    "encrypted twice": (
        lambda: EncryptedSerializer(Bare(), EncryptedSerializer(Bare(), STRICT)), "EncryptedSerializer",
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", LAX)
def test_a_serializer_that_decodes_too_much_is_refused(client: Client, name: str) -> None:
    make, named = LAX[name]
    with pytest.raises(ValueError, match=f"serde: .*{named}") as refused:
        ElfSaver(client, user_id="ana", serde=make())
    assert "pass JsonPlusSerializer(allowed_msgpack_modules=None)" in str(refused.value)


@pytest.mark.parametrize(
    "serde",
    [STRICT, JsonPlusSerializer(allowed_msgpack_modules=[Model]), EncryptedSerializer(Bare(), STRICT)],
    ids=["strict", "with a list", "encrypted"],
)
def test_a_strict_serializer_is_taken(client: Client, serde: SerializerProtocol) -> None:
    saver = ElfSaver(client, user_id="ana", serde=serde, types=[Point])
    kept(saver, [Point(1), {1, 2}])
    found = saver.get_tuple(thread())
    assert found is not None
    assert found.checkpoint["channel_values"]["value"] == [Point(1), {1, 2}]
    graph = state_graph(ElfSaver(client, user_id="ana", serde=serde))
    graph.invoke({"point": Point(1), "tree": Tree(color=Color.RED)}, thread("t2"))
    assert graph.get_state(thread("t2")).values["point"] == Point(1)


def test_a_type_that_no_checkpoint_can_name_is_refused(client: Client) -> None:
    class Inner:
        pass

    with pytest.raises(ValueError, match=r"types\[1\]: .*Inner is not at the top level"):
        ElfSaver(client, user_id="ana", types=[Point, Inner])
    with pytest.raises(ValueError, match=r"types\[0\]: .* is no type"):
        ElfSaver(client, user_id="ana", types=["Point"])  # type: ignore[list-item]
