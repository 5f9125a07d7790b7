"""Decodes the values of checkpoints without running code that the program has not allowed.

A value names the Python types that it is made of, and whoever may write a thread chooses the names. LangGraph's
serializer calls whatever is named, or, where it is strict, returns what it blocks as raw data. Here a value that names
a type which nobody allowed is an error, and nothing of it reaches the graph.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from importlib.util import find_spec
from typing import Any, Final

from langgraph.checkpoint.serde._msgpack import SAFE_MSGPACK_TYPES
from langgraph.checkpoint.serde.base import SerializerProtocol
from langgraph.checkpoint.serde.encrypted import EncryptedSerializer
from langgraph.checkpoint.serde.event_hooks import SerdeEvent, register_serde_event_listener
from langgraph.checkpoint.serde.jsonplus import LC_REVIVER, JsonPlusSerializer

KINDS: Final = ("null", "bytes", "bytearray", "json", "msgpack")
"""How a value may be written; what is pickled is never read."""
BLOCKED: Final = ("msgpack_blocked", "msgpack_method_blocked")
PASS: Final = (
    "pass JsonPlusSerializer(allowed_msgpack_modules=None), or an EncryptedSerializer around one, and name the types "
    "of your program in `types`"
)


class TypeNotAllowed(ValueError):
    """A stored value names a type that the saver was not told to decode; `type_name` is its full name.

    Raised before anything of the checkpoint reaches the graph.
    """

    def __init__(self, type_name: str, problem: str, *, place: str = "") -> None:
        super().__init__(f"{place}: {problem}" if place else problem)
        self.type_name = type_name
        self.problem = problem

    def at(self, place: str) -> TypeNotAllowed:
        """Return the same error with the place of the value."""
        return TypeNotAllowed(self.type_name, self.problem, place=place)


class StrictSerializer(JsonPlusSerializer):
    """LangGraph's serializer, with a list of types, that raises TypeNotAllowed for any other."""

    def loads_typed(self, data: tuple[str, bytes]) -> Any:
        kind = data[0]
        if kind not in KINDS:
            raise TypeNotAllowed(kind, f"the value is written as {kind}, which ElfSaver does not read")
        with _blocked_types() as blocked:
            value = super().loads_typed(data)
        if blocked:
            raise _not_allowed(*blocked[0])
        return value

    def _reviver(self, value: dict[str, Any]) -> Any:
        # The library lets JSON construct all of LangChain's "core", which is more than the types of a checkpoint.
        if value.get("lc") in (1, 2) and value.get("type") == "constructor":
            names = value.get("id")
            path = tuple(map(str, names)) if isinstance(names, list) else (str(names),)
            module, name = ".".join(path[:-1]), path[-1] if path else ""
            if value["lc"] == 1:  # LangChain's own form names some types by where they once were
                *modules, name = LC_REVIVER.import_mappings.get(path, path)
                module = ".".join(modules)
            allowed = self._allowed_json_modules
            assert allowed is not True, "checked"
            if (module, name) not in SAFE_MSGPACK_TYPES and (*module.split("."), name) not in (allowed or ()):
                raise _not_allowed(module, name)
        return super()._reviver(value)


def strict(serde: SerializerProtocol | None, types: Sequence[type]) -> SerializerProtocol:
    """Return a serializer that decodes LangGraph's and LangChain's own types, those that `serde` allows, and `types`.

    Raises ValueError for a serializer that decodes more, or of which nobody can tell, and for a type that a checkpoint
    cannot name.
    """
    for place, one in enumerate(types):
        if not isinstance(one, type):
            raise ValueError(f"types[{place}]: {one!r} is no type")
        if getattr(sys.modules.get(one.__module__), one.__name__, None) is not one:
            name = f"{one.__module__}.{one.__qualname__}"
            raise ValueError(
                f"types[{place}]: {name} is not at the top level of its module, where it would be found"
            )
    if serde is None:
        return _allowing(JsonPlusSerializer(allowed_msgpack_modules=None), types)
    if type(serde) is EncryptedSerializer:
        return EncryptedSerializer(serde.cipher, _allowing(_checked(serde.serde), types))
    return _allowing(_checked(serde), types)


def _checked(serde: SerializerProtocol) -> JsonPlusSerializer:
    if type(serde) not in (JsonPlusSerializer, StrictSerializer):
        name = type(serde).__name__
        raise ValueError(f"serde: nobody can tell which types a {name} decodes; {PASS}")
    assert isinstance(serde, JsonPlusSerializer)
    if serde.pickle_fallback:
        raise ValueError(f"serde: pickle_fallback=True runs what a checkpoint says; {PASS}")
    for name in ("allowed_msgpack_modules", "allowed_json_modules"):
        if getattr(serde, f"_{name}") is True:
            raise ValueError(f"serde: {name}=True lets a checkpoint name any function to be called; {PASS}")
    if serde._custom_unpack_ext_hook:
        raise ValueError(f"serde: nobody can tell which types its __unpack_ext_hook__ decodes; {PASS}")
    return serde


def _allowing(serde: JsonPlusSerializer, types: Sequence[type]) -> StrictSerializer:
    msgpack, json = serde._allowed_msgpack_modules, serde._allowed_json_modules
    assert msgpack is not True, "checked"
    assert json is not True, "checked"
    in_json = {(*one.__module__.split("."), one.__name__) for one in types}
    return StrictSerializer(
        allowed_msgpack_modules=[*(msgpack or ()), *types], allowed_json_modules=[*(json or ()), *in_json]
    )


def _not_allowed(module: str, name: str, method: str | None = None) -> TypeNotAllowed:
    full = f"{module}.{name}" if module else name
    if method is not None:
        problem = f"the value calls the method {method} of {full}, which no checkpoint of a graph does"
        return TypeNotAllowed(f"{full}.{method}", problem)
    return TypeNotAllowed(
        full,
        f"the value names the type {full}, which ElfSaver was not told to decode. If it is a type of your program, "
        f"allow it: ElfSaver(..., types=[{name}]). If it is not, somebody else wrote this thread",
    )


_seen: ContextVar[list[tuple[str, str, str | None]] | None] = ContextVar("_seen", default=None)


@contextmanager
def _blocked_types() -> Iterator[list[tuple[str, str, str | None]]]:
    """Collect what the library blocks within the block; it returns such values as raw data, and tells of it here."""
    blocked: list[tuple[str, str, str | None]] = []
    token = _seen.set(blocked)
    try:
        yield blocked
    finally:
        _seen.reset(token)


def _note(event: SerdeEvent) -> None:
    blocked = _seen.get()
    if blocked is not None and event["kind"] in BLOCKED:
        blocked.append((event["module"], event["name"], event.get("method")))


register_serde_event_listener(_note)


def let_compile_name_types() -> None:
    """Have `compile()` tell its checkpointer the types of a graph's state.

    LangGraph does so only where the environment variable LANGGRAPH_STRICT_MSGPACK was set before it was imported. It
    changes nothing for checkpointers whose serializer decodes every type.
    """
    if find_spec("langgraph._internal") is not None:  # the package of graphs may not be there
        from langgraph._internal import _serde

        _serde.STRICT_MSGPACK_ENABLED = True  # type: ignore[attr-defined]
