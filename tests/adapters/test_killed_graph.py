"""A graph with a store and a saver goes on behind a service that was killed, and finds what it had kept."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any, TypedDict

import pytest
from langgraph.graph import END, START, StateGraph
from langgraph.store.base import BaseStore

from elf.client import Client
from elf.client.errors import Unreachable
from elf.client.retries import NO_RETRIES
from elf.langgraph import ElfSaver, ElfStore
from tests.adapters.saver_kit import process_at, thread
from tests.folders import fresh_folder
from tests.system.service import write_config

ANA = ("users", "ana")


class State(TypedDict, total=False):
    said: str
    known: list[str]


def graph_over(client: Client, began: Callable[[str], object]) -> Any:
    """Return a graph that keeps what was said, and then finds it. `began` is told of each node."""

    def keep(state: State, *, store: BaseStore) -> State:
        began("keep")
        store.put(ANA, "drink", {"says": state["said"]}, index=["says"])
        return {}

    def recall(state: State, *, store: BaseStore) -> State:
        began("recall")
        return {
            "known": [item.value["says"] for item in store.search(("users",), query="What does she drink?")]
        }

    graph = StateGraph(State)
    graph.add_node("keep", keep)
    graph.add_node("recall", recall)
    graph.add_edge(START, "keep")
    graph.add_edge("keep", "recall")
    graph.add_edge("recall", END)
    return graph.compile(checkpointer=ElfSaver(client, user_id="ana"), store=ElfStore(client, user_id="ana"))


def test_a_graph_finds_what_it_kept_before_the_service_was_killed() -> None:
    with fresh_folder() as folder:
        config = write_config(Path(folder))
        with (
            process_at(config) as (process, url),
            Client(url, tenant_id="acme", retries=NO_RETRIES) as client,
        ):

            def kill(node: str) -> None:
                if node == "recall":
                    process.kill()
                    process.wait()

            with pytest.raises(Unreachable):
                graph_over(client, kill).invoke({"said": "green tea"}, thread(), durability="sync")
        ran: list[str] = []
        with process_at(config) as (_, url), Client(url, tenant_id="acme") as client:
            graph = graph_over(client, ran.append)
            assert graph.get_state(thread()).next == ("recall",)
            assert graph.invoke(None, thread())["known"] == ["green tea"]
    assert ran == ["recall"]
