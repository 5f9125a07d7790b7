"""The names of dropped files: which ones wait, which can be read, and what a file is called where it ends.

A manifest stands beside its file, and is called as it is, with a suffix. So a name has room for that suffix, and for
the number that tells it from another file of its name.
"""

from __future__ import annotations

import hashlib
import os
import unicodedata
from collections.abc import Callable, Iterator
from itertools import count
from typing import Final, Literal, TypeAlias

from elf.core.secrets import find_credential

Ending: TypeAlias = Literal["processed", "rejected"]
"""The folder in which a file ends."""

IngestStatus: TypeAlias = Literal["processed", "duplicate", "rejected"]
"""What became of a file."""

MANIFEST_SUFFIX: Final[dict[Ending, str]] = {"processed": ".processed.json", "rejected": ".rejection.json"}
SUFFIXES: Final = (".txt", ".md", ".json")

LOOK: Final = ".look"
"""A file that comes and goes in the drop folder, by which a process has whoever takes files in look at once."""

_UNFINISHED: Final = (".tmp", ".part")
_MAX_NAME_BYTES: Final = 255
_ROOM: Final = max(map(len, MANIFEST_SUFFIX.values())) + len(".99999")
MAX_BYTES: Final = _MAX_NAME_BYTES - _ROOM
_DIGEST_DIGITS: Final = 16


def waits(name: str) -> bool:
    """Tell whether whoever drops a file says by its name that it is not finished."""
    return name.startswith(".") or name.lower().endswith(_UNFINISHED)


def suffix_of(name: str) -> str | None:
    """Return the suffix of a name by which its file is read, in lower case; None where there is no such."""
    suffix = os.path.splitext(name)[1].lower()
    return suffix if suffix in SUFFIXES else None


def problem_of(name: str) -> str | None:
    """Say why a file of this name can be no source; None where it can."""
    if not _is_text(name):
        return "the name is no valid UTF-8"
    if any(unicodedata.category(sign) == "Cc" for sign in name):
        return "the name has control characters"
    if len(name.encode()) > MAX_BYTES:
        return f"the name is longer than {MAX_BYTES} bytes"
    return None


def has_credential(name: str) -> bool:
    """Tell whether a name holds a credential, which must get into no manifest and no log."""
    return find_credential(shown(name)) is not None


def shown(name: str) -> str:
    """Return a name as it can be written in JSON and in a line of a log: it is not always valid UTF-8."""
    return os.fsencode(name).decode("utf-8", "backslashreplace")


def kept(name: str) -> str:
    """Return what a file is called where it ends: its own name, or one that can be shown, has room, holds no
    credential, and tells it from others.
    """
    is_secret = has_credential(name)
    if problem_of(name) is None and not is_secret:
        return name
    digest = hashlib.sha256(os.fsencode(name)).hexdigest()[:_DIGEST_DIGITS]
    if is_secret:
        return f"withheld~{digest}"
    plain = "".join(sign if sign.isascii() and sign.isprintable() else "_" for sign in shown(name))
    return f"{plain[: MAX_BYTES - _DIGEST_DIGITS - 1]}~{digest}"


def free(name: str, is_taken: Callable[[str], bool]) -> str:
    """Return the first of name, name.1, name.2 and so on that is not taken."""
    return next(one for one in _numbered(name) if not is_taken(one))


def _numbered(name: str) -> Iterator[str]:
    yield name
    for number in count(1):
        yield f"{name}.{number}"


def _is_text(name: str) -> bool:
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True
