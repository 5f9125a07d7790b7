"""Replaces secrets in decoded JSON, in slices: a request may hold thousands of strings."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any, Final, TypeAlias

from elf.core.secrets.redaction import SHORT, redacting_after
from elf.core.secrets.scan import is_clean, is_plain_name
from elf.core.slices import Slices, at_once, elsewhere

_SMALLEST_NUMBER: Final = 1000  # below it an integer is no PIN, card or account
_PIECE: Final = 64

_Copy: TypeAlias = dict[str, Any] | list[Any]


def redact_json(value: Any) -> Any:
    """Return a copy of a decoded JSON value with the secrets in its strings, integers and keys redacted.

    The name of a field counts as the words before its value, so `{"password": "..."}` is seen. An integer
    that is a secret becomes a string. Keys that are equal after redaction are told apart by a number behind
    them. The walk keeps its own stack, so no depth of nesting overflows.
    """
    return at_once(redacting_json(value))


def redacting_json(value: Any) -> Slices[Any]:
    """Do what `redact_json` does, with a pause after each text that was read."""
    whole: list[Any] = []
    open_containers: list[tuple[Iterator[tuple[str, Any]], _Names | None, str, _Copy]] = [
        (iter([("", value)]), None, "", whole)
    ]
    seen = 0
    while open_containers:
        children, names, inherited, copy = open_containers[-1]
        child = next(children, None)
        seen += 1
        if seen % _PIECE == 0:
            yield
        if child is None:
            open_containers.pop()
            continue
        key, item = child
        name = inherited if names is None else key
        if isinstance(item, dict):
            redacted: Any = {}
            open_containers.append((iter(item.items()), _Names(), "", redacted))
        elif isinstance(item, list):
            redacted = []
            open_containers.append(((("", one) for one in item), None, name, redacted))
        else:
            redacted = yield from _redacting_field(name, item)
        if names is None:
            copy.append(redacted)  # type: ignore[union-attr]
        else:
            copy[(yield from names.redacting(key))] = redacted  # type: ignore[call-overload]
    return whole[0]


class _Names:
    """The keys of one object after redaction, each once."""

    def __init__(self) -> None:
        self._times: dict[str, int] = {}

    def redacting(self, key: str) -> Slices[str]:
        if is_plain_name(key):
            plain = key
        else:
            plain = yield from redacting_after("", key)
        name = plain
        while name in self._times:
            self._times[plain] += 1
            name = f"{plain} {self._times[plain]}"
        self._times[name] = 1
        return name


def _redacting_field(name: str, value: Any) -> Slices[Any]:
    if isinstance(value, bool) or not isinstance(value, str | int):
        return value
    if isinstance(value, int) and abs(value) < _SMALLEST_NUMBER:
        return value
    text = str(value)
    context = f"{name.replace('_', ' ')}: " if name else ""
    if (yield from _is_clean(context, text)):
        return value
    redacted = yield from redacting_after("", text)
    redacted = yield from redacting_after(context, redacted)
    return value if redacted == text else redacted


def _is_clean(context: str, text: str) -> Slices[bool]:
    if len(text) <= SHORT:
        yield
        return is_clean(context, text)
    return (yield from elsewhere(partial(is_clean, context, text)))
