"""The English-only boundary: where a request holds CJK text or NUL characters.

The blocks are those of section 3 of the notes specification, with the extensions, phonetic and half-width
forms that carry the same scripts. Radicals, full-width Latin and emoji are not CJK text here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator
from typing import Final

_BLOCKS: Final = (
    (0x1100, 0x11FF),  # Hangul Jamo
    (0x3000, 0x303F),  # CJK Symbols and Punctuation
    (0x3040, 0x309F),  # Hiragana
    (0x30A0, 0x30FF),  # Katakana
    (0x3100, 0x312F),  # Bopomofo
    (0x3130, 0x318F),  # Hangul Compatibility Jamo
    (0x31A0, 0x31BF),  # Bopomofo Extended
    (0x31F0, 0x31FF),  # Katakana Phonetic Extensions
    (0x3400, 0x4DBF),  # CJK Unified Ideographs Extension A
    (0x4E00, 0x9FFF),  # CJK Unified Ideographs
    (0xA960, 0xA97F),  # Hangul Jamo Extended-A
    (0xAC00, 0xD7AF),  # Hangul Syllables
    (0xD7B0, 0xD7FF),  # Hangul Jamo Extended-B
    (0xF900, 0xFAFF),  # CJK Compatibility Ideographs
    (0xFF61, 0xFFDC),  # half-width CJK punctuation, Katakana and Hangul
    (0x1AFF0, 0x1B16F),  # Kana Extended-B, Kana Supplement, Kana Extended-A, Small Kana Extension
    (0x20000, 0x2A6DF),  # CJK Unified Ideographs Extension B
    (0x2A700, 0x2EE5F),  # Extensions C, D, E, F and I
    (0x2F800, 0x2FA1F),  # CJK Compatibility Ideographs Supplement
    (0x30000, 0x323AF),  # Extensions G and H
)

_CJK: Final = re.compile("[" + "".join(f"{chr(first)}-{chr(last)}" for first, last in _BLOCKS) + "]")


def english_pattern() -> str:
    """Return a pattern, in the dialect of JSON Schema, of the strings that hold neither CJK nor NUL.

    Code points above U+FFFF stand in it as they are, because the engines do not agree on an escape for them.
    """
    blocks = "".join(f"{_escaped(first)}-{_escaped(last)}" for first, last in _BLOCKS)
    return rf"^[^\u0000{blocks}]*$"


def _escaped(point: int) -> str:
    return f"\\u{point:04X}" if point <= 0xFFFF else chr(point)


def contains_cjk(text: str) -> bool:
    """Tell whether any code point of `text` is CJK."""
    return not text.isascii() and _CJK.search(text) is not None


def contains_nul(text: str) -> bool:
    """Tell whether `text` holds U+0000, which Postgres cannot store."""
    return "\x00" in text


def cjk_paths(value: object, path: str) -> Iterator[str]:
    """Yield the path of every string and key within `value` that holds CJK, in document order."""
    return paths_where(value, path, contains_cjk)


def nul_paths(value: object, path: str) -> Iterator[str]:
    """Yield the path of every string and key within `value` that holds a NUL character, in document order."""
    return paths_where(value, path, contains_nul)


def paths_where(value: object, path: str, predicate: Callable[[str], bool]) -> Iterator[str]:
    """Yield the path of every string within a decoded JSON value for which `predicate` holds, in document
    order.

    Keys are strings too: a key has the path of its value, and a path is yielded once when both qualify. Below
    `path`, keys are written as JSON strings in brackets and list places as numbers: `$.source_ref["k"][1]`.
    The walk keeps its own stack, so no depth of nesting overflows.
    """
    if isinstance(value, str) and predicate(value):
        yield path
    steps = [path]
    open_containers = [_children(value)]
    while open_containers:
        child = next(open_containers[-1], None)
        if child is None:
            open_containers.pop()
            steps.pop()
            continue
        key, item = child
        if (isinstance(key, str) and predicate(key)) or (isinstance(item, str) and predicate(item)):
            yield "".join(steps) + _step(key)
        if isinstance(item, dict | list):
            steps.append(_step(key))
            open_containers.append(_children(item))


def _children(value: object) -> Iterator[tuple[str | int, object]]:
    if isinstance(value, dict):
        return iter(value.items())
    return iter(enumerate(value)) if isinstance(value, list) else iter(())


def _step(key: str | int) -> str:
    if isinstance(key, int):
        return f"[{key}]"
    # A lone surrogate is legal in a Python string and cannot be sent: it is written as its escape.
    quoted = json.dumps(key, ensure_ascii=False).encode("utf-8", "backslashreplace").decode()
    return f"[{quoted}]"
