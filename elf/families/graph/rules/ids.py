"""The ids of memories, edges and messages: their form, made ones, derived ones, and how a message names a file."""

from __future__ import annotations

import hashlib
import re
from typing import Final, Literal, TypeAlias
from uuid import uuid4

from elf.families.graph.model import ID_PATTERN, ORCHESTRATOR_PATTERN

Origin: TypeAlias = Literal["ingest", "t", "w", "d", "u"]
"""What a derived id starts with: it is from a file, a transcript, the output of a workflow, diagnostics, or was given
by a user and is taken by what that user does not see.
"""

DERIVED_DIGITS: Final = 24
_SEPARATOR: Final = "\0"

_ID: Final = re.compile(ID_PATTERN.removesuffix("$") + r"\Z")
_FOLDER: Final = re.compile(ORCHESTRATOR_PATTERN.removesuffix("$") + r"\Z")


def is_id(text: str) -> bool:
    """Tell whether a text has the form of an id: 1-128 letters, digits, dots, `_`, `:` and `-`."""
    return _ID.match(text) is not None


def new_id() -> str:
    """Return a fresh random id, for what came without one."""
    return uuid4().hex


def derived_id(origin: Origin, *parts: str) -> str:
    """Return the id that the same parts have each time; other parts have another one.

    Raises ValueError for a part with a NUL, with which two lists of parts could be the same.
    """
    if any(_SEPARATOR in part for part in parts):
        raise ValueError("a part of a derived id has a NUL")
    digest = hashlib.sha256(_SEPARATOR.join(parts).encode("utf-8", "surrogatepass")).hexdigest()
    return f"{origin}-{digest[:DERIVED_DIGITS]}"


def file_name(message_id: str) -> str:
    """Return what the file of a message is called, without a suffix.

    An id that is no safe name, such as `..`, or one with a colon, gives its SHA-256 after a `_`, with which no safe
    name starts.
    """
    if _FOLDER.match(message_id):
        return message_id
    return "_" + hashlib.sha256(message_id.encode("utf-8", "surrogatepass")).hexdigest()
