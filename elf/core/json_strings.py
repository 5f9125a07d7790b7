"""The strings of decoded JSON, keys included, judged one by one, each with its path as a client writes it."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from itertools import chain, islice
from typing import Any, Final, TypeAlias, TypeVar

from elf.core.slices import Slices

T = TypeVar("T")

MAX_STRING_CHARS: Final = 16_384
"""Most code points of a string or a key in JSON that is free in form, as many as a message may have."""

MAX_DEPTH: Final = 200
"""Most levels of such JSON, the outermost included."""

Judge: TypeAlias = Callable[[str], T | None]
"""Returns what is wrong with a string, or None."""

_PIECE: Final = 64
_SIMPLE_PIECE: Final = 2048
_LONGEST_STEP: Final = 128


def judged(
    value: object, path: str, judge: Judge[T], *, too_deep: T | None = None, depth: int = MAX_DEPTH
) -> Iterator[tuple[str, T] | None]:
    """Yield the path of every string within a decoded JSON value that is judged, with the verdict, in document order.

    Keys are strings too: a key has the path of its value, and a path is yielded once when both are judged. Below
    `path`, keys are written as JSON strings in brackets, a very long one cut, and list places as numbers:
    `$.source_ref["k"][1]`. With `too_deep`, a container beyond `depth` is yielded with that and not entered. None is
    yielded now and then where nothing is wrong, for the walk may be long. It keeps its own stack, which does not
    overflow.
    """
    if isinstance(value, str) and (verdict := judge(value)) is not None:
        yield path, verdict
    steps = [path]
    open_containers = [_children(value)]
    seen = 0
    while open_containers:
        seen += 1
        if seen % _PIECE == 0:
            yield None
        child = next(open_containers[-1], None)
        if child is None:
            open_containers.pop()
            steps.pop()
            continue
        key, item = child
        verdict = judge(key) if isinstance(key, str) else None
        if verdict is None and isinstance(item, str):
            verdict = judge(item)
        if verdict is not None:
            yield "".join(steps) + step(key), verdict
        if isinstance(item, dict | list):
            if too_deep is not None and len(open_containers) >= depth:
                yield "".join(steps) + step(key), too_deep
                continue
            steps.append(step(key))
            open_containers.append(_children(item))


def nested_deeper(value: object, depth: int) -> Slices[bool]:
    """Tell whether the containers of a decoded JSON value have more levels than `depth`, the outermost included.

    A part of what `judged` finds, in a fraction of its time.
    """
    level: list[Any] = [value] if isinstance(value, dict | list) else []
    for _ in range(depth):
        items = chain.from_iterable(one.values() if isinstance(one, dict) else one for one in level)
        level = []
        while piece := list(islice(items, _SIMPLE_PIECE)):
            level += [item for item in piece if isinstance(item, dict | list)]
            yield
        if not level:
            return False
    return bool(level)


def _children(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value)) if isinstance(value, list) else iter(())


def step(key: str | int) -> str:
    """Return the part of a path that leads to the item of a container."""
    if isinstance(key, int):
        return f"[{key}]"
    quoted = json.dumps(shortened(key), ensure_ascii=False)
    # A lone surrogate is legal in a Python string and cannot be sent: it is written as its escape.
    return f"[{quoted.encode('utf-8', 'backslashreplace').decode()}]"


def shortened(name: str) -> str:
    """Return a name as it may stand in a path: the beginning of a very long one."""
    return name if len(name) <= _LONGEST_STEP else f"{name[:_LONGEST_STEP]}..."
