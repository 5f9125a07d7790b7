"""Stored text as a part of a line that a model is shown: readable, and nothing but the text of that line.

Whoever wrote it may have wanted more. So it has no line of its own to begin, no character that cannot be seen, and
nothing that looks like a tag, a token of a chat template, a fence of code, a marker of a citation, or a role that
begins to speak, be it at the start or after what stands before it: `Fact: `, `1. `. All else stands as it was written:

    System: obey            System - obey
    ### Assistant           Assistant
    [INST]                  (INST)
    ```                     '''
    see [m3]                see (m3)

Every context is made of such texts: what is stored stays as it is.
"""

from __future__ import annotations

import re
import unicodedata
from collections import defaultdict
from collections.abc import Iterable
from itertools import chain
from typing import Final

from elf.core.blank_text import on_one_line

BREAK: Final = " / "
"""What stands for the end of a line."""

ROLES: Final = (
    "system", "developer", "user", "human", "assistant", "ai", "model", "bot", "agent", "tool", "function", "ipython",
)  # fmt: skip
"""Who speaks in a chat, as models were taught to read it."""

_SORTS: Final = (
    "message", "messages", "prompt", "note", "instruction", "instructions", "input", "output", "query", "call", "calls",
    "result", "results", "response", "role", "turn",
)  # fmt: skip
"""What a role is said to speak: `System prompt:`."""

_IN_HEADINGS: Final = (*ROLES, "instruction", "instructions", "input", "response")
_IN_TEMPLATES: Final = (
    *ROLES,
    "inst",
    "sys",
    "system_prompt",
    "available_tools",
    "tool_calls",
    "tool_results",
)

_COLONS: Final = ":\uff1a\ufe55\ufe13\u2236\u02d0\u02f8\ua789\u0589\u05c3"
# Letters in other shapes, which are the same to a reader: full-width, bold, in circles.
_SHAPES: Final = (
    (0x2100, 0x214F),
    (0x24B6, 0x24E9),
    (0xFF21, 0xFF5A),
    (0x1D400, 0x1D6A5),
    (0x1F130, 0x1F149),
)


def _shapes() -> dict[str, str]:
    shapes: defaultdict[str, str] = defaultdict(str)
    for point in chain.from_iterable(range(first, last + 1) for first, last in _SHAPES):
        letter = unicodedata.normalize("NFKC", chr(point)).strip("()").casefold()
        if len(letter) == 1 and letter.isascii() and letter.isalpha():
            shapes[letter] += chr(point)
    return shapes


_SHAPES_OF: Final = _shapes()


def _one_of(words: Iterable[str]) -> str:
    spelled = ("".join(f"[{letter}{_SHAPES_OF.get(letter, '')}]" for letter in word) for word in words)
    return f"(?:{'|'.join(spelled)})"


_LEAD: Final = r"(?:\d{1,3}[.)]|[\W_]){0,32}+"
"""Marks of a list, of emphasis, of a quotation."""

_STARTS: Final = rf"(?:^|(?<=/ )|(?<=[{_COLONS}]\s)(?![\s\[]*{{\s*[\"']))"
"""Where text begins: a line, and what follows a prefix, unless that is an object of JSON."""

_TOKEN: Final = (
    rf"(?:\u2039[^>\uff1e\u2039]{{0,64}}[>\uff1e]|\(\s*/?\s*(?:[A-Z_]{{2,}}|{_one_of(_IN_TEMPLATES)})\s*\))"
)
_SPOKEN: Final = rf"{_one_of(ROLES)}(?:[\s_]{{1,4}}(?:{_one_of(_SORTS)}|\d{{1,3}}))?"

_TAG: Final = re.compile(r"[<\uff1c\ufe64](?!\s*[\d=-])")
_IN_BRACKETS: Final = re.compile(
    r"[\[\uff3b](\s*(?:[mM]\s*\d+(?:\s*[,;]\s*[mM]?\s*\d+)*|/?\s*[A-Z_]{2,}"
    rf"|(?i:/?\s*{_one_of(_IN_TEMPLATES)}))\s*)[\]\uff3d]"
)
_FENCE: Final = re.compile(r"`{3,}|~{3,}")
_HEADING: Final = re.compile(
    rf"(?:{_STARTS}|{_TOKEN})(?=[\W_]{{0,32}}[#\uff03]){_LEAD}(?={_one_of(_IN_HEADINGS)}(?:\b|_))",
    re.IGNORECASE,
)
_HASHES: Final = re.compile("[#\uff03]+ *")
_ROLE: Final = re.compile(
    rf"((?:{_STARTS}|{_TOKEN}){_LEAD}{_SPOKEN})((?:[\W_]{{0,8}}[{_COLONS}])+)", re.IGNORECASE
)
_COLON: Final = re.compile(f"[{_COLONS}]")


def inert(text: str) -> str:
    """Return a text on one line, with nothing in it that is more than text. Done again, it changes nothing."""
    line = BREAK.join(filter(None, map(on_one_line, text.splitlines())))
    line = _TAG.sub("\u2039", line)
    line = _FENCE.sub(lambda found: "'" * len(found[0]), line)
    line = _IN_BRACKETS.sub(r"(\1)", line)
    line = _HEADING.sub(lambda found: _HASHES.sub("", found[0]), line)
    return _ROLE.sub(_unspoken, line)


def _unspoken(label: re.Match[str]) -> str:
    return f"{label[1]}{_COLON.sub('', label[2]).rstrip()} -"
