"""A program of LangGraph reads what somebody else wrote: no code runs, it is told what was wrong, and goes on.

What is hostile is written with a key of the same tenant, through an import, and as a row of the database.
"""

from __future__ import annotations

import asyncio
import json
import pickle
from base64 import b64encode
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any, Final, TypedDict

import asyncpg
import ormsgpack
import pytest
from langgraph.checkpoint.base import empty_checkpoint
from langgraph.checkpoint.serde.jsonplus import JsonPlusSerializer
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore
from langgraph.types import Command

from elf.client import Client
from elf.langgraph import ElfSaver, ElfStore
from elf.langgraph.wire import Wire
from tests.adapters.saver_kit import graph_with, thread
from tests.folders import fresh_folder
from tests.keys_kit import with_keys
from tests.system.planting import dsn_of
from tests.system.service import RunningService, write_config

HERE: Final = __name__
TENANT: Final = "acme"
USER: Final = "ana"
OF_TENANT: Final = {"tenant_id": TENANT}
BEFORE: Final = ["hi", "left", "right"]
KEYS: Final = {name: f"{name:k<43}" for name in ("program", "same", "other", "free", "admin")}
RAN: Final[list[str]] = []
MOMENT: Final = "2026-01-01T00:00:00Z"


def run_code(said: str) -> str:
    """Stand for all that a checkpoint may have called."""
    RAN.append(said)
    return said


class Pickled:
    def __reduce__(self) -> Any:
        return run_code, ("pickled",)


def ext(code: int, *said: object) -> bytes:
    return ormsgpack.packb(ormsgpack.Ext(code, ormsgpack.packb(said)))


def inner() -> ormsgpack.Ext:
    return ormsgpack.Ext(0, ormsgpack.packb((HERE, "run_code", "x")))


def in_json(form: int, *names: str) -> bytes:
    said = {"lc": form, "type": "constructor", "id": names, "kwargs": {"said": "x", "template": "x"}}
    return json.dumps([{"deep": said}]).encode()


Typed = tuple[str, bytes]
FORMS: Final[Mapping[str, tuple[Typed, str]]] = {
    "one argument": (("msgpack", ext(0, HERE, "run_code", "x")), "run_code"),
    "arguments": (("msgpack", ext(1, HERE, "run_code", ["x"])), "run_code"),
    "named arguments": (("msgpack", ext(2, HERE, "run_code", {"said": "x"})), "run_code"),
    "a method": (("msgpack", ext(3, HERE, "Pickled", "x", "__reduce__")), "__reduce__"),
    "a model of pydantic 1": (("msgpack", ext(4, HERE, "run_code", {"said": "x"})), "run_code"),
    "a model of pydantic 2": (("msgpack", ext(5, HERE, "run_code", {"said": "x"}, "f")), "run_code"),
    "of the library": (("msgpack", ext(0, "builtins", "exec", "raise SystemExit")), "builtins.exec"),
    "within a set": (("msgpack", ext(0, "builtins", "set", [inner()])), "run_code"),
    "within a change": (("msgpack", ormsgpack.packb(ormsgpack.Ext(7, ormsgpack.packb(inner())))), "run_code"),
    "in JSON": (("json", in_json(2, *HERE.split("."), "run_code")), "run_code"),
    "of LangChain in JSON": (
        ("json", in_json(1, "langchain_core", "prompts", "prompt", "PromptTemplate")), "PromptTemplate",
    ),
    "pickled": (("pickle", pickle.dumps(Pickled())), "pickle"),
}  # fmt: skip
ONE: Final = FORMS["one argument"]


class Planted:
    """Stands where a value is hostile."""

    def __init__(self, typed: Typed) -> None:
        self.typed = typed


class Planting(JsonPlusSerializer):
    def dumps_typed(self, obj: Any) -> Typed:
        return obj.typed if isinstance(obj, Planted) else super().dumps_typed(obj)


@pytest.fixture(scope="module")
def service(model_folder: Path) -> Iterator[RunningService]:
    """A service that asks who calls; two keys are of the program's agent, one of another, one of none."""
    agents = {"program": "supervisor", "same": "supervisor", "other": "planner"}
    tables: list[dict[str, object]] = [
        {"key": key, "name": name, "tenant_id": TENANT}
        | ({"agent_id": agents[name]} if name in agents else {})
        | ({"role": "admin"} if name == "admin" else {})
        for name, key in KEYS.items()
    ]
    with fresh_folder() as folder:
        config = write_config(folder, cache_dir=f'"{model_folder}"')
        config.write_text(with_keys(config.read_text(encoding="utf-8"), *tables), encoding="utf-8")
        with RunningService(config) as running:
            yield running


@pytest.fixture
def clients(service: RunningService) -> Iterator[Callable[[str], Client]]:
    """Gives the client of a key."""
    made: dict[str, Client] = {}

    def client_of(name: str) -> Client:
        return made.setdefault(name, Client(service.url, tenant_id=TENANT, api_key=KEYS[name]))

    yield client_of
    for client in made.values():
        client.close()


@pytest.fixture(autouse=True)
def _nothing_runs() -> Iterator[None]:
    RAN.clear()
    yield
    assert RAN == []


def rows(service: RunningService, sql: str, *arguments: object) -> list[Any]:
    """Write into the database of the service."""

    async def ask() -> list[Any]:
        connection = await asyncpg.connect(dsn_of(service))
        try:
            return list(await connection.fetch(sql, *arguments))
        finally:
            await connection.close()

    return asyncio.run(ask())


def imported(service: RunningService, path: str, items: list[Any]) -> None:
    """Have an operator take lines in."""
    answer = service.admin.post(
        path, json={**OF_TENANT, "items": items}, headers={"X-API-Key": KEYS["admin"]}
    )
    assert answer.status_code == 200, answer.text


def plant(client: Client, saver: ElfSaver, thread_id: str, typed: Typed, part: str) -> None:
    """Write a newest checkpoint of a thread, as a program would, of which one part is hostile."""
    found = saver.get_tuple(thread(thread_id))
    assert found is not None
    planted: Any = Planted(typed)
    checkpoint = {**found.checkpoint, "id": empty_checkpoint()["id"]}
    metadata, new = found.metadata, {}
    if part == "channel":
        version = saver.get_next_version(found.checkpoint["channel_versions"]["messages"], None)
        new = {"messages": version}
        checkpoint["channel_values"] = {**found.checkpoint["channel_values"], "messages": planted}
        checkpoint["channel_versions"] = {**found.checkpoint["channel_versions"], **new}
    wire = Wire(TENANT, USER, Planting())
    place = thread(thread_id, checkpoint_ns="")
    call = wire.put(place, checkpoint, metadata, new)  # type: ignore[arg-type]
    if part in ("head", "metadata"):
        body = json.loads(call.content or b"")
        body["checkpoint" if part == "head" else "metadata"] = {
            "type": typed[0], "data": b64encode(typed[1]).decode(),
        }  # fmt: skip
        call = replace(call, content=json.dumps(body).encode())
    client.send(call)
    if part == "write":
        at = thread(thread_id, checkpoint_ns="", checkpoint_id=checkpoint["id"])
        client.send(wire.put_writes(at, [("messages", planted)], "task", ""))


def halted(saver: ElfSaver, *thread_ids: str) -> Any:
    """Return a graph that was interrupted in each of these threads."""
    graph = graph_with(saver)
    for thread_id in thread_ids:
        assert graph.invoke({"messages": ["hi"]}, thread(thread_id))["messages"] == BEFORE
    return graph


def refused_and_going_on(saver: ElfSaver, graph: Any, bad: str, good: str, named: str) -> None:
    """Assert that a program is told what it does not read, and that all else goes on."""
    for read in (
        lambda: graph.invoke(Command(resume="yes"), thread(bad)),
        lambda: graph.get_state(thread(bad)),
        lambda: list(saver.list(thread(bad))),
    ):
        with pytest.raises(ValueError, match=named) as refused:
            read()
        assert f"thread {bad}, checkpoint " in str(refused.value)
    assert graph.invoke(Command(resume="yes"), thread(good))["messages"] == [*BEFORE, "asked"]
    saver.delete_thread(bad)
    assert graph.invoke({"messages": ["hi"]}, thread(bad))["messages"] == BEFORE


@pytest.mark.parametrize("form", FORMS)
def test_a_hostile_value_that_a_key_wrote_is_refused(clients: Callable[[str], Client], form: str) -> None:
    saver = ElfSaver(clients("program"), user_id=USER)
    bad, good = f"bad {form}", f"good {form}"
    graph = halted(saver, bad, good)
    typed, named = FORMS[form]
    plant(clients("same"), saver, bad, typed, "channel")
    refused_and_going_on(saver, graph, bad, good, named)


@pytest.mark.parametrize("part", ["head", "metadata", "write"])
def test_a_hostile_part_of_a_checkpoint_is_refused(clients: Callable[[str], Client], part: str) -> None:
    saver = ElfSaver(clients("program"), user_id=USER)
    bad, good = f"bad {part}", f"good {part}"
    graph = halted(saver, bad, good)
    plant(clients("free"), saver, bad, ONE[0], part)
    refused_and_going_on(saver, graph, bad, good, ONE[1])


@pytest.mark.parametrize(
    ("table", "columns"),
    [
        ("saver_blobs", ("type", "data")),
        ("saver_checkpoints", ("checkpoint_type", "checkpoint")),
        ("saver_checkpoints", ("metadata_type", "metadata")),
        ("saver_writes", ("type", "data")),
    ],
)
def test_a_hostile_row_of_the_database_is_refused(
    service: RunningService, clients: Callable[[str], Client], table: str, columns: tuple[str, str]
) -> None:
    saver = ElfSaver(clients("program"), user_id=USER)
    bad, good = f"bad {columns[1]} of {table}", f"good {columns[1]} of {table}"
    graph = halted(saver, bad, good)
    rows(
        service, f"UPDATE {table} SET {columns[0]} = $1, {columns[1]} = $2 WHERE thread_id = $3", *ONE[0], bad
    )
    refused_and_going_on(saver, graph, bad, good, ONE[1])


def test_the_error_says_how_a_type_is_allowed(clients: Callable[[str], Client]) -> None:
    saver = ElfSaver(clients("program"), user_id=USER)
    halted(saver, "told")
    plant(clients("same"), saver, "told", ONE[0], "channel")
    with pytest.raises(ValueError, match="run_code") as refused:
        saver.get_tuple(thread("told"))
    assert f"{HERE}.run_code" in str(refused.value)
    assert "channel messages" in str(refused.value)
    assert "ElfSaver(..., types=[run_code])" in str(refused.value)


def test_an_import_puts_nothing_before_a_saver(
    service: RunningService, clients: Callable[[str], Client]
) -> None:
    saver = ElfSaver(clients("program"), user_id=USER)
    graph = halted(saver, "kept", "also kept")
    was = saver.get_tuple(thread("kept"))
    hostile = {"lc": 2, "type": "constructor", "id": [*HERE.split("."), "run_code"], "kwargs": {"said": "x"}}
    moments = {"created_at": MOMENT, "updated_at": MOMENT}
    lines = [
        {
            "user_id": USER,
            "thread": {"thread_id": name, "by_saver": by_saver, "checkpoint_data": {"x": hostile}, **moments},
        }
        for name in ("kept", "new")
        for by_saver in (True, False)
    ]
    imported(service, "/v1/admin/assistant/import", lines)
    imported(
        service, "/v1/admin/import", [{"family": "assistant", "item": line | OF_TENANT} for line in lines]
    )
    assert saver.get_tuple(thread("kept")) == was
    assert saver.get_tuple(thread("new")) is None
    assert graph.invoke(Command(resume="yes"), thread("kept"))["messages"] == [*BEFORE, "asked"]
    assert graph.invoke({"messages": ["hi"]}, thread("new"))["messages"] == BEFORE


class Said(TypedDict):
    known: Any


def reading(store: BaseStore) -> Any:
    """Return a graph whose node reads a value of a store."""

    def node(state: Said, *, store: BaseStore) -> Said:
        item = store.get(("ana",), "key")
        assert item is not None
        return {"known": [item.value, *(one.value for one in store.search(("ana",)))]}

    graph = StateGraph(Said)
    graph.add_node("node", node)
    graph.add_edge(START, "node")
    graph.add_edge("node", END)
    return graph.compile(store=store)


@pytest.mark.parametrize("way", ["key", "import", "row"])
def test_a_hostile_value_of_a_store_is_data(
    service: RunningService, clients: Callable[[str], Client], way: str
) -> None:
    hostile = {
        "a": {"lc": 2, "type": "constructor", "id": [*HERE.split("."), "run_code"], "kwargs": {"said": "x"}},
        "b": {"lc": 1, "type": "constructor", "id": ["langchain_core", "prompts", "prompt", "PromptTemplate"]},
        "c": {"py/object": f"{HERE}.run_code", "__class__": f"{HERE}.run_code"},
    }  # fmt: skip
    user = f"ana by {way}"
    store = ElfStore(clients("program"), user_id=user, fields=None)
    store.put(("ana",), "key", hostile if way == "key" else {"a": 1})
    if way == "row":
        rows(
            service, "UPDATE store_items SET value = $1 WHERE user_id = $2 RETURNING 1",
            json.dumps(hostile), user,
        )  # fmt: skip
    if way == "import":
        store.delete(("ana",), "key")
        item = {
            "namespace": ["ana"], "key": "key", "value": hostile, "created_at": MOMENT, "updated_at": MOMENT,
        }  # fmt: skip
        imported(
            service, "/v1/admin/import", [{"family": "store", "item": {**OF_TENANT, "user_id": user, **item}}]
        )
    assert reading(store).invoke({"known": None})["known"] == [hostile, hostile]
