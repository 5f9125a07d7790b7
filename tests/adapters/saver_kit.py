"""A graph of LangGraph with a saver, and a service for it in a process of its own that can be killed."""

from __future__ import annotations

import operator
import subprocess
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Annotated, Any, TypedDict

from langgraph.checkpoint.base import BaseCheckpointSaver
from langgraph.graph import END, START, StateGraph
from langgraph.types import interrupt

SERVE = """
import sys
from pathlib import Path
from tests.db.assistant.assistant_kit import served_beside_the_others
with served_beside_the_others(Path(sys.argv[1])) as address:
    print(address, flush=True)
    sys.stdin.read()
"""


class State(TypedDict):
    messages: Annotated[list[str], operator.add]
    thought: str
    approved: str


class Thought(TypedDict):
    thought: str


class Inner(Thought):
    messages: list[str]


def graph_with(saver: BaseCheckpointSaver[Any], began: Callable[[str], object] = lambda _: None) -> Any:
    """Return a graph: a subgraph, two nodes at once, and a question to somebody.

    `began` is told when the nodes of the subgraph, of the left and of the right begin.
    """

    def think(state: Inner) -> Thought:
        began("think")
        return {"thought": f"of {state['messages'][0]}"}

    def left(state: State) -> dict[str, list[str]]:
        began("left")
        return {"messages": ["left"]}

    def right(state: State) -> dict[str, list[str]]:
        began("right")
        return {"messages": ["right"]}

    inner = StateGraph(Inner, output_schema=Thought)
    inner.add_node("think", think)
    inner.add_edge(START, "think")
    inner.add_edge("think", END)
    outer = StateGraph(State)
    outer.add_node("plan", inner.compile())
    outer.add_node("left", left)
    outer.add_node("right", right)
    outer.add_node("ask", lambda state: {"approved": interrupt("go on?"), "messages": ["asked"]})
    outer.add_edge(START, "plan")
    outer.add_edge("plan", "left")
    outer.add_edge("plan", "right")
    outer.add_edge(["left", "right"], "ask")
    outer.add_edge("ask", END)
    return outer.compile(checkpointer=saver)


def thread(thread_id: str = "t1", **other: str) -> Any:
    """Return the config of a thread."""
    return {"configurable": {"thread_id": thread_id, **other}}


@contextmanager
def process_at(config: Path) -> Iterator[tuple[subprocess.Popen[str], str]]:
    """Run a service in a process of its own, and give it with its address; the block's end stops it."""
    with subprocess.Popen(
        [sys.executable, "-c", SERVE, str(config)], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        try:
            yield process, process.stdout.readline().strip()
        finally:
            if process.poll() is None:
                process.stdin.close()
                process.wait(timeout=60)
