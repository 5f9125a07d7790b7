"""graph_remember takes one memory as arguments of its own; the API takes lists of memories and edges."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Annotated, Any, Final, Literal

from pydantic import Field

from elf.api.bodies import Request
from elf.api.tool import Reshaping, Schema
from elf.families.graph import model as m
from elf.families.graph.api import fields as f
from elf.families.graph.api.writing import Confidence, Content, Weight
from elf.families.graph.rules.ids import new_id

DEFAULTS: Final = {"importance": 50, "confidence": 0.8, "captured_by": "system"}
LINK_WEIGHT: Final = 0.7

_OF_MEMORY: Final = {
    "content": "content", "type": "type", "importance": "importance", "confidence": "confidence",
    "memory_id": "memoryId",
}  # fmt: skip
_OF_SOURCE: Final = {"captured_by": "capturedBy", "conversation_id": "conversationId"}
_OF_LINK: Final = {"to_memory_id": "toMemoryId", "edge_type": "edgeType"}
_OWN: Final = {*_OF_MEMORY, *_OF_SOURCE, "links"}
_OF_API: Final = {"memories", "edges"}


class Link(Request):
    """An edge from the memory to one that there is."""

    to_memory_id: f.Id
    edge_type: m.EdgeType
    weight: Weight = LINK_WEIGHT


class Remember(f.InOrchestrator):
    """A memory with its source and its edges, as a model gives it."""

    content: Content
    type: m.NodeType
    importance: f.Importance
    confidence: Confidence
    captured_by: Literal["user", "system"]
    conversation_id: f.GivenId | None = None
    memory_id: f.GivenId | None = None
    links: Annotated[list[Link], Field(max_length=m.MAX_EDGES)] | None = None


def as_request(arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the arguments as the API takes them; what already has its form stays so."""
    if arguments.keys() & _OF_API:
        return dict(arguments)
    said = DEFAULTS | {name: value for name, value in arguments.items() if value is not None}
    memory = {
        **_renamed(said, _OF_MEMORY),
        "source": {"sourceType": "manual", **_renamed(said, _OF_SOURCE)},
    }
    request = {name: value for name, value in said.items() if name not in _OWN}
    if "links" in said:
        memory.setdefault("memoryId", new_id())  # by which edges know it
        request["edges"] = _edges(memory["memoryId"], said["links"])
    return {**request, "memories": [memory]}


def as_failure(body: Mapping[str, Any], arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Return the body of an error, its faults at the paths of the arguments."""
    if arguments.keys() & _OF_API:
        return dict(body)
    fields = list(dict.fromkeys(_as_arguments(path) for path in body.get("fields") or ()))
    return {**body, "message": _as_arguments(str(body.get("message"))), "fields": fields or None}


def _renamed(said: Mapping[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    return {wire: said[name] for name, wire in names.items() if name in said}


def _edges(memory_id: Any, links: Any) -> Any:
    if not isinstance(links, list):
        return links  # the API's to refuse, as is a link that is none
    return [_edge(memory_id, link) if isinstance(link, dict) else link for link in links]


def _edge(memory_id: Any, link: Mapping[str, Any]) -> dict[str, Any]:
    named = {_OF_LINK.get(name, name): value for name, value in link.items()}
    return {"fromMemoryId": memory_id, "weight": LINK_WEIGHT, **named}


def _as_arguments(text: str) -> str:
    text = re.sub(r"\$\.edges\[\d+\]\.fromMemoryId", "$.memory_id", text)
    text = re.sub(r"\$\.memories\[0\](\.source)?", "$", text).replace("$.edges", "$.links")
    for name, wire in (_OF_MEMORY | _OF_SOURCE | _OF_LINK).items():
        text = text.replace(f".{wire}", f".{name}")
    return text


def _schema() -> Schema:
    return Remember.model_json_schema()


RESHAPING: Final = Reshaping(schema=_schema, as_request=as_request, as_failure=as_failure, defaults=DEFAULTS)
