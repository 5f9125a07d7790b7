"""Removes the files of erased memories: the sources that they were taken out of, with manifests and copies, rejected
files that tell of them, and bulletins.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

import msgspec

from elf.core.errors import Unavailable
from elf.core.whole_words import whole_words
from elf.families.graph.bulletin_files import user_prefix
from elf.families.graph.ingest import names
from elf.families.graph.ingest.ledger import key_of
from elf.families.graph.ingest.names import MANIFEST_SUFFIX
from elf.families.graph.rules.texts import collapse
from elf.families.graph.store.damage import LEFT_OVERS
from elf.families.graph.store.erasing import Doomed, Erasure
from elf.families.graph.store.layout import Layout

_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FILE: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_NUMBERED: Final = re.compile(r"\.\d+\Z")


def remove_files(layout: Layout, asked: Erasure, doomed: Doomed) -> dict[str, int]:
    """Remove what stands beside memory.db of memories that go; return how many files and bulletins went.

    Harmless when it is done again. Blocks. Raises Unavailable.
    """
    removed = _remove(layout.processed, _Processed(layout, asked, doomed))
    removed += _remove(layout.rejected, _Rejected(asked, doomed))
    removed += _remove(layout.ingest, _Waiting(layout, asked, doomed))
    removed += _remove(layout.memory, lambda _, name: name.startswith(LEFT_OVERS))
    ids = doomed.told_of | frozenset(asked.memory_ids)
    return {
        "files": removed,
        "bulletins": _remove_bulletins(layout, ids, everything=asked.everything, user=asked.user),
    }


@dataclass(frozen=True, slots=True)
class _Processed:
    """Tells which files in processed/ go: by their names, or by the keys and memories that their manifests name, which
    copies and files of JSON have in common with what was taken in.
    """

    layout: Layout
    asked: Erasure
    doomed: Doomed

    def __call__(self, folder: int, name: str) -> bool:
        if self.asked.everything:
            return True
        suffix = MANIFEST_SUFFIX["processed"]
        source = name.removesuffix(suffix)
        manifest = _json(folder, f"{source}{suffix}")
        if source != name and not _is_manifest(manifest):
            source, manifest = name, _json(folder, f"{name}{suffix}")
        paths = self.doomed.source_paths
        if source in self.doomed.ingests.values() or str(self.layout.processed / source) in paths:
            return True
        if _is_manifest(manifest):
            told = manifest.get("memoryIds")
            ids = {one for one in told if isinstance(one, str)} if isinstance(told, list) else set()
            return manifest["idempotencyKey"] in self.doomed.ingests or bool(
                ids & (self.doomed.told_of | frozenset(self.asked.memory_ids))
            )
        dropped = source if names.suffix_of(source) is not None else _NUMBERED.sub("", source)
        return _has_key(folder, source, self.layout.ingest / dropped, self.doomed.ingests)


@dataclass(frozen=True, slots=True)
class _Waiting:
    """Tells which files go that wait to be taken in: those that are what was taken in before."""

    layout: Layout
    asked: Erasure
    doomed: Doomed

    def __call__(self, folder: int, name: str) -> bool:
        return self.asked.everything or _has_key(folder, name, self.layout.ingest / name, self.doomed.ingests)


class _Rejected:
    """Tells which files in rejected/ go: those that name a memory, a conversation or a user, or have the text."""

    def __init__(self, asked: Erasure, doomed: Doomed) -> None:
        self._everything = asked.everything
        user = () if asked.user is None else (asked.user,)
        self._names = whole_words([*doomed.told_of, *asked.memory_ids, *asked.conversations, *user])
        self._texts = doomed.texts

    def __call__(self, folder: int, name: str) -> bool:
        if self._everything:
            return True
        source = name.removesuffix(MANIFEST_SUFFIX["rejected"])
        return any(self._tells(folder, one) for one in {name, source})

    def _tells(self, folder: int, name: str) -> bool:
        text = (_bytes(folder, name) or b"").decode(errors="replace")
        if self._names(name) or self._names(text):
            return True
        plain = collapse(_unescaped(text))
        return any(one in plain for one in self._texts)


def _remove_bulletins(
    layout: Layout, memory_ids: Collection[str], *, everything: bool, user: str | None = None
) -> int:
    """Remove the bulletins that cite memories, those that a user was told, and those of which nobody can say."""
    told = None if user is None else user_prefix(user)

    def is_going(folder: int, name: str) -> bool:
        is_told = told is not None and name.startswith((told, f".{told}"))
        return everything or is_told or _cites(folder, name, memory_ids)

    return _remove(layout.bulletins, is_going)


def _remove(folder: Path, is_going: Callable[[int, str], bool]) -> int:
    removed = 0
    with _opened(folder) as descriptor:
        for name in [name for name in os.listdir(descriptor) if is_going(descriptor, name)]:
            with suppress(FileNotFoundError, IsADirectoryError):  # another process was first; folders stay
                os.unlink(name, dir_fd=descriptor)
                removed += 1
        os.fsync(descriptor)
    return removed


@contextmanager
def _opened(folder: Path) -> Iterator[int]:
    try:
        descriptor = os.open(folder, _FOLDER)
        try:
            yield descriptor
        finally:
            os.close(descriptor)
    except OSError as error:
        raise Unavailable(f"files of erased memories cannot be removed: {error.strerror}") from error


def _cites(folder: int, name: str, memory_ids: Collection[str]) -> bool:
    """Tell whether a bulletin cites a memory, or cannot be read."""
    try:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            bulletin: Any = msgspec.json.decode(file.read())
        return any(one["memoryId"] in memory_ids for one in bulletin["citations"])
    except FileNotFoundError:
        return False
    except (OSError, msgspec.DecodeError, KeyError, TypeError):
        return bool(memory_ids)


def _has_key(folder: int, name: str, dropped: Path, keys: Mapping[str, str]) -> bool:
    """Tell whether a file that was dropped as another one has one of some keys."""
    data = _bytes(folder, name) if keys else None
    return data is not None and key_of(str(dropped), data) in keys


def _bytes(folder: int, name: str) -> bytes | None:
    """Return what is in a file; None for one that is gone, is none, or cannot be read."""
    try:
        with open(os.open(name, _FILE, dir_fd=folder), "rb") as file:
            return file.read()
    except OSError:
        return None


def _json(folder: int, name: str) -> Any:
    data = _bytes(folder, name)
    try:
        return None if data is None else msgspec.json.decode(data)
    except msgspec.DecodeError:
        return None


def _is_manifest(found: Any) -> bool:
    return isinstance(found, dict) and isinstance(found.get("idempotencyKey"), str)


def _unescaped(text: str) -> str:
    """Return the texts of JSON, one behind the other; of anything else the text."""
    try:
        found = msgspec.json.decode(text.encode())
    except msgspec.DecodeError:
        return text
    return " ".join(_strings(found))


def _strings(value: Any) -> Iterator[str]:
    match value:
        case str():
            yield value
        case list():
            for one in value:
                yield from _strings(one)
        case dict():
            yield from _strings(list(value.values()))
