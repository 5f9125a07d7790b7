"""Values of all types that a state may have, and the types that a program has to register for them."""

from __future__ import annotations

import enum
import re
import uuid
from collections import deque
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, time, timedelta, timezone
from decimal import Decimal
from ipaddress import ip_address, ip_interface, ip_network
from pathlib import Path
from typing import Any, Final, NamedTuple
from zoneinfo import ZoneInfo

import numpy as np
from langchain_core.documents import Document
from langchain_core.messages import (
    AIMessage,
    AIMessageChunk,
    ChatMessage,
    ChatMessageChunk,
    FunctionMessage,
    FunctionMessageChunk,
    HumanMessage,
    HumanMessageChunk,
    RemoveMessage,
    SystemMessage,
    SystemMessageChunk,
    ToolMessage,
    ToolMessageChunk,
)
from langgraph.store.base import Item
from langgraph.types import Command, Interrupt, Overwrite, Send, TimeoutPolicy
from pydantic import BaseModel, RootModel, SecretBytes, SecretStr
from pydantic.dataclasses import dataclass as checked_dataclass
from pydantic.v1 import BaseModel as BaseModelV1


class Name(str):
    __slots__ = ()


class Count(int):
    pass


class Color(enum.Enum):
    RED = "red"


class Word(enum.StrEnum):
    YES = "yes"


class Level(enum.IntEnum):
    HIGH = 3


class Rights(enum.Flag):
    READ = 1
    WRITE = 2


class Flags(enum.IntFlag):
    A = 1
    B = 2


@dataclass
class Point:
    x: int
    y: int = 2


@dataclass(frozen=True, slots=True)
class Frozen:
    at: Point
    tags: frozenset[str] = frozenset()


@dataclass(kw_only=True)
class Tree:
    color: Color
    leaves: list[Tree] = field(default_factory=list)


class Pair(NamedTuple):
    left: int
    right: str


class Model(BaseModel):
    name: str
    at: datetime | None = None


class Nested(BaseModel):
    inner: Model
    others: list[Model] = []


class Names(RootModel[list[str]]):
    pass


class Old(BaseModelV1):
    name: str
    count: int = 1


class Older(BaseModelV1):
    old: Old


@checked_dataclass
class Checked:
    x: int


MOMENT: Final = datetime(2026, 11, 28, 12, 30, 15, 250, tzinfo=UTC)

VALUES: Final[dict[str, tuple[Any, tuple[type, ...]]]] = {
    # JSON, and what the format itself has
    "null": (None, ()), "bool": (True, ()), "int": (-(1 << 60), ()), "float": (0.1, ()),
    "infinity": (float("inf"), ()), "str": ("\u00e9\x00\U0001f600", ()), "bytes": (b"\x00\xff", ()),
    "bytearray": (bytearray(b"ab"), ()), "list": ([1, [2]], ()), "dict": ({"a": {"b": 1}, 2: "c"}, ()),
    # Python's own
    "set": ({1, 2}, ()), "frozenset": (frozenset({"a"}), ()), "deque": (deque([1, 2]), ()),
    "UUID": (uuid.UUID(int=7), ()),
    "Decimal": (Decimal("1.10"), ()), "regex": (re.compile("a+", re.IGNORECASE), ()),
    "Path": (Path("/a/b"), ()), "IPv4Address": (ip_address("10.0.0.1"), ()), "IPv6Address": (ip_address("::1"), ()),
    "IPv4Network": (ip_network("10.0.0.0/8"), ()), "IPv6Network": (ip_network("fe80::/10"), ()),
    "IPv4Interface": (ip_interface("10.0.0.1/8"), ()), "IPv6Interface": (ip_interface("::1/64"), ()),
    "datetime": (MOMENT, ()), "naive datetime": (MOMENT.replace(tzinfo=None), ()), "date": (date(2026, 1, 2), ()),
    "time": (time(1, 2, 3, tzinfo=UTC), ()), "timedelta": (timedelta(days=1, microseconds=2), ()),
    "timezone": (timezone(timedelta(hours=2)), ()), "ZoneInfo": (ZoneInfo("Europe/Berlin"), ()),
    # subclasses of str and int, which come back as str and int
    "a subclass of str": (Name("ana"), ()), "a subclass of int": (Count(3), ()),
    "a large subclass of int": (Count(1 << 60), ()),
    # the program's own
    "Enum": (Color.RED, (Color,)), "StrEnum": (Word.YES, (Word,)), "IntEnum": (Level.HIGH, (Level,)),
    "Flag": (Rights.READ | Rights.WRITE, (Rights,)), "IntFlag": (Flags.A | Flags.B, (Flags,)),
    "dataclass": (Point(1), (Point,)), "frozen dataclass": (Frozen(Point(1), frozenset({"a"})), (Frozen, Point)),
    "recursive dataclass": (Tree(color=Color.RED, leaves=[Tree(color=Color.RED)]), (Tree, Color)),
    "namedtuple": (Pair(1, "b"), (Pair,)), "pydantic 2": (Model(name="a", at=MOMENT), (Model,)),
    "nested pydantic 2": (Nested(inner=Model(name="a"), others=[Model(name="b")]), (Nested, Model)),
    "pydantic 1": (Old(name="a", count=2), (Old,)), "nested pydantic 1": (Older(old=Old(name="a")), (Older, Old)),
    "pydantic dataclass": (Checked(1), (Checked,)), "SecretStr": (SecretStr("a"), (SecretStr,)),
    "SecretBytes": (SecretBytes(b"a"), (SecretBytes,)),
    # numpy
    "array of float64": (np.arange(6.0).reshape(2, 3), ()), "array of float32": (np.ones(3, np.float32), ()),
    "array of int64": (np.arange(4), ()), "array of uint8": (np.arange(4, dtype=np.uint8), ()),
    "array of bool": (np.array([True, False]), ()), "array of complex": (np.array([1 + 2j]), ()),
    "array of str": (np.array(["a", "bc"]), ()),
    "array in Fortran's order": (np.asfortranarray(np.arange(6.0).reshape(2, 3)), ()),
    "empty array": (np.zeros((0, 3)), ()),
    # LangChain's
    "HumanMessage": (HumanMessage("a", id="1"), ()), "AIMessage": (
        AIMessage("a", tool_calls=[{"name": "t", "args": {"x": 1}, "id": "1", "type": "tool_call"}]), (),
    ),
    "SystemMessage": (SystemMessage("a"), ()), "ToolMessage": (ToolMessage("a", tool_call_id="1"), ()),
    "ChatMessage": (ChatMessage("a", role="r"), ()), "FunctionMessage": (FunctionMessage("a", name="f"), ()),
    "RemoveMessage": (RemoveMessage("1"), ()), "HumanMessageChunk": (HumanMessageChunk("a"), ()),
    "AIMessageChunk": (AIMessageChunk("a"), ()), "SystemMessageChunk": (SystemMessageChunk("a"), ()),
    "ToolMessageChunk": (ToolMessageChunk("a", tool_call_id="1"), ()),
    "ChatMessageChunk": (ChatMessageChunk("a", role="r"), ()),
    "FunctionMessageChunk": (FunctionMessageChunk("a", name="f"), ()),
    "Document": (Document("a", metadata={"b": 1}, id="1"), ()),
    # LangGraph's
    "Send": (Send("node", {"x": Point(1)}), (Point,)),
    "Send with a timeout": (Send("node", 1, timeout=TimeoutPolicy(run_timeout=2.0)), ()),
    "Interrupt": (Interrupt(value={"question": "?"}, id="1"), ()), "Command": (Command(goto="node", resume=1), ()),
    "Overwrite": (Overwrite([1]), ()), "TimeoutPolicy": (TimeoutPolicy(run_timeout=2.0), ()),
    "Item": (Item(value={"a": 1}, key="k", namespace=("n",), created_at=MOMENT, updated_at=MOMENT), ()),
}  # fmt: skip
