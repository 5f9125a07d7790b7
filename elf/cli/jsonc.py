"""Setting a member of a JSON text that people write: comments, commas at the end and the layout all stay.

Editors keep their settings as JSON with comments. Parsing and writing them anew would lose those, so a member is set
by a change to the text, which is then read again to prove that nothing else has changed.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any, Final

_TOKEN: Final = re.compile(
    r'(?P<skip>\s+|//[^\r\n]*|/\*.*?\*/)|(?P<string>"(?:\\.|[^"\\])*")|(?P<mark>[{}\[\],:])|(?P<word>[^\s{}\[\],:"/]+)',
    re.DOTALL,
)
_UNIT: Final = "  "


class NotJson(Exception):
    """The text is no JSON object, not even one with comments, or not one that the member can be set in."""


@dataclass(slots=True)
class _Node:
    """A value and where it stands. Of an object: its members, and where its content ends, comments included."""

    value: Any
    start: int
    end: int = 0
    members: dict[str, _Node] = field(default_factory=dict)
    content_end: int = 0
    last_comma: bool = False


def read(text: str) -> dict[str, Any]:
    """Return the object that a text holds; an empty text is an empty object. Raises NotJson."""
    value = _parsed(text).value if text.strip() else {}
    if not isinstance(value, dict):
        raise NotJson("it holds no JSON object")
    return value


def with_member(text: str, path: Sequence[str], value: Any) -> str:
    """Return the text with a member set, objects on the way to it added. Raises NotJson when that cannot be done."""
    wanted = _merged(read(text), path, value)
    changed = _set(text if text.strip() else "{}\n", path, value)
    if read(changed) != wanted:
        raise NotJson("its layout is too unusual to be changed safely")
    return changed


def _merged(whole: dict[str, Any], path: Sequence[str], value: Any) -> dict[str, Any]:
    name, *rest = path
    inner = whole.get(name, {})
    if rest and not isinstance(inner, dict):
        raise NotJson(f"its {name} is no object")
    return whole | {name: _merged(inner, rest, value) if rest else value}


def _set(text: str, path: Sequence[str], value: Any) -> str:
    node = _parsed(text)
    for number, name in enumerate(path):
        if (member := node.members.get(name)) is None:
            for missing in reversed(path[number + 1 :]):
                value = {missing: value}
            return _added(text, node, name, value)
        node = member
    indent = _indent_at(text, node.start)
    return text[: node.start] + _dumped(text, value, indent) + text[node.end :]


def _added(text: str, node: _Node, name: str, value: Any) -> str:
    """Return the text with a member at the end of an object."""
    newline = "\r\n" if "\r\n" in text else "\n"
    outer = _indent_at(text, node.start)
    first = next(iter(node.members.values()), None)
    own_line = first is not None and newline in text[node.start : first.start]
    inner = _indent_at(text, first.start) if first is not None and own_line else outer + _UNIT
    member = f"{newline}{inner}{json.dumps(name)}: {_dumped(text, value, inner)}"
    tail = text[node.content_end :]
    if newline not in tail[: node.end - node.content_end]:
        tail = newline + outer + tail.lstrip(" \t")
    head = text[: node.content_end]
    if node.members and not node.last_comma:
        comma = next(reversed(node.members.values())).end
        head = f"{head[:comma]},{head[comma:]}"
    return head + member + ("," if node.last_comma else "") + tail


def _indent_at(text: str, place: int) -> str:
    line = text[text.rfind("\n", 0, place) + 1 : place]
    return line[: len(line) - len(line.lstrip())]


def _dumped(text: str, value: Any, indent: str) -> str:
    newline = "\r\n" if "\r\n" in text else "\n"
    unit = "\t" if indent.startswith("\t") else _UNIT
    lines = json.dumps(value, indent=unit, ensure_ascii=False).splitlines()
    return (newline + indent).join(lines)


def _parsed(text: str) -> _Node:
    tokens = _Tokens(text)
    try:
        node = tokens.value()
    except RecursionError:
        raise NotJson("it is nested too deeply") from None
    if tokens.kind:
        raise NotJson(f"something follows the JSON in line {tokens.line}")
    return node


class _Tokens:
    """Reads a text token by token; `kind` and `text` are those of the next one, empty at the end."""

    def __init__(self, text: str) -> None:
        self._whole = text
        self._rest = self._scan()
        self.kind = self.text = ""
        self.start = self.end = 0
        self.content_end = 0
        self._advance()

    @property
    def line(self) -> int:
        return self._whole.count("\n", 0, self.start) + 1

    def value(self) -> _Node:
        node = _Node(None, self.start)
        if self.text == "{" and self.kind == "mark":
            self._object(node)
        elif self.text == "[" and self.kind == "mark":
            self._array(node)
        elif self.kind in ("string", "word"):
            node.value = self._scalar()
            node.end = self._take()
        else:
            raise self._fault()
        return node

    def _object(self, node: _Node) -> None:
        node.value = {}
        self._take()
        while not self._at("}"):
            if self.kind != "string":
                raise self._fault()
            name = self._scalar()
            self._take()
            self._take(":")
            if name in node.members:
                raise NotJson(f"it has two members {name}")
            node.members[name] = member = self.value()
            node.value[name] = member.value
            node.last_comma = self._comma_before("}")
        node.content_end = self.content_end
        node.end = self._take()

    def _array(self, node: _Node) -> None:
        node.value = []
        self._take()
        while not self._at("]"):
            node.value.append(self.value().value)
            self._comma_before("]")
        node.end = self._take()

    def _comma_before(self, closing: str) -> bool:
        if self._at(closing):
            return False
        self._take(",")
        return True

    def _scalar(self) -> Any:
        try:
            return json.loads(self.text)
        except ValueError:
            raise self._fault() from None

    def _at(self, mark: str) -> bool:
        return self.kind == "mark" and self.text == mark

    def _take(self, mark: str | None = None) -> int:
        """Step over the next token, which is `mark` if one is given, and return where it ends."""
        if mark is not None and not self._at(mark):
            raise self._fault()
        end = self.end
        self._advance()
        return end

    def _advance(self) -> None:
        self.kind, self.text, self.start, self.end, self.content_end = next(self._rest)

    def _fault(self) -> NotJson:
        return NotJson(f"it is no JSON in line {self.line}")

    def _scan(self) -> Iterator[tuple[str, str, int, int, int]]:
        """Yield kind, text, start and end of each token, and where what comes before it ends but for white space."""
        place = content_end = 0
        while (found := _TOKEN.match(self._whole, place)) is not None:
            place = found.end()
            kind = str(found.lastgroup)
            if kind != "skip":
                yield kind, found[0], found.start(), place, content_end
            if not found[0].isspace():
                content_end = place
        if place != len(self._whole):
            line = self._whole.count("\n", 0, place) + 1
            raise NotJson(f"it is no JSON in line {line}")
        while True:
            yield "", "", place, place, content_end
