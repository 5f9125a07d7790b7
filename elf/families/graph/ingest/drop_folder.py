"""The drop folder: what waits in it is looked at, read and moved, and nothing outside of it ever is.

All goes by descriptors of its folders and by single names in them, and no link is followed. Between a look, the
reading and the move anybody may put something else in a file's place; each step compares what it finds with what was
seen before.
"""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from secrets import token_hex
from typing import Final

from elf.families.graph.ingest import names
from elf.families.graph.ingest.entry import DroppedFile, Entry, Stamp
from elf.families.graph.ingest.folders import IngestFolders
from elf.families.graph.ingest.names import MANIFEST_SUFFIX, Ending
from elf.families.graph.ingest.rejection import Rejection

# A pipe without a writer must not hold up who opens it, and a terminal must not become ours.
_READING: Final = os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_NOCTTY | os.O_CLOEXEC
_KNOCKING: Final = os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
_CHUNK: Final = 1 << 20


class Replaced(Exception):
    """Something else, or nothing, has come to be where a file was. What is there now is for the next look."""


class DropFolder:
    """The files of one ingest folder, by the descriptors of open folders. Its methods block."""

    def __init__(self, folders: IngestFolders) -> None:
        self._folders = folders

    def waiting(self) -> list[Entry]:
        """Return what lies there, in the order of the names; folders and what is called unfinished stay."""
        found = [self._entry(name) for name in os.listdir(self._folders.ingest) if not names.waits(name)]
        entries = [entry for entry in found if entry is not None and not entry.stamp.is_folder]
        return sorted(entries, key=lambda entry: os.fsencode(entry.name))

    def read(self, entry: Entry, *, max_bytes: int) -> DroppedFile:
        """Return the bytes of an entry.

        Raises Replaced where it is another file than was seen, and Rejection where it is none that may be read, is too
        large, or was written to.
        """
        if not entry.stamp.is_single_file:
            raise Rejection("not_regular_file", _what_it_is(entry.stamp))
        with self._opened(entry.name) as descriptor:
            before = Stamp.of(os.fstat(descriptor))
            if not before.is_of_same_file(entry.stamp):
                raise Replaced
            _check(before, max_bytes)
            data = _bytes_of(descriptor, max_bytes)
            if Stamp.of(os.fstat(descriptor)) != before or len(data) != before.size:
                raise Rejection("file_changed", "the file changed while it was read")
        return DroppedFile(name=entry.name, stamp=before, data=data)

    def free_name(
        self, ending: Ending, name: str, *, is_awaited: Callable[[str], bool] = lambda _: False
    ) -> str:
        """Return a name which neither a file nor a manifest has in the folder where a file of this name ends.

        `is_awaited` tells of a name with nothing but a manifest whether that waits for this very file.
        """
        folder = self._folders.ending(ending)

        def is_taken(one: str) -> bool:
            has_manifest = _is_there(one + MANIFEST_SUFFIX[ending], folder)
            return _is_there(one, folder) or (has_manifest and not is_awaited(one))

        return names.free(names.kept(name), is_taken)

    def move(self, name: str, stamp: Stamp, ending: Ending, target: str) -> None:
        """Move what was seen or read to where it ends; it has no other name there than `target`, which is free.

        Raises Replaced where the name leads to something else by now, or to a file that was written to since. That
        stays, or is put back: its own bytes have yet to be read.
        """
        folder = self._folders.ending(ending)
        self._expect(name, stamp, self._folders.ingest)
        try:
            os.rename(name, target, src_dir_fd=self._folders.ingest, dst_dir_fd=folder)
        except FileNotFoundError:
            raise Replaced from None
        try:
            self._expect(target, stamp, folder)
        except Replaced:
            self._put_back(target, folder, name)
            raise
        finally:
            os.fsync(folder)
            os.fsync(self._folders.ingest)

    def is_there(self, ending: Ending, target: str) -> bool:
        """Tell whether something of this name is where files end."""
        return _is_there(target, self._folders.ending(ending))

    def remove(self, ending: Ending, target: str) -> None:
        """Remove what is where files end, if it is there."""
        folder = self._folders.ending(ending)
        with suppress(FileNotFoundError, IsADirectoryError):
            os.unlink(target, dir_fd=folder)
        os.fsync(folder)

    def knock(self) -> None:
        """Make something happen in the folder, for whoever watches it, that leaves nothing behind."""
        with suppress(FileExistsError):  # somebody else knocks
            os.close(os.open(names.LOOK, _KNOCKING, 0o600, dir_fd=self._folders.ingest))
        with suppress(FileNotFoundError):
            os.unlink(names.LOOK, dir_fd=self._folders.ingest)

    def look(self, name: str) -> Entry | None:
        """Return what a name leads to now; None where that is nothing, or a folder."""
        entry = self._entry(name)
        return None if entry is None or entry.stamp.is_folder else entry

    def _entry(self, name: str) -> Entry | None:
        found = _seen(name, self._folders.ingest)
        return None if found is None else Entry(name=name, stamp=found)

    @contextmanager
    def _opened(self, name: str) -> Iterator[int]:
        try:
            descriptor = os.open(name, _READING, dir_fd=self._folders.ingest)
        except PermissionError:
            raise Rejection("invalid_source_path", "the service may not read the file") from None
        except OSError as error:
            if _seen(name, self._folders.ingest) is not None and not _leads_elsewhere(error):
                raise
            raise Replaced from None
        try:
            yield descriptor
        finally:
            os.close(descriptor)

    @staticmethod
    def _expect(name: str, stamp: Stamp, folder: int) -> None:
        found = _seen(name, folder)
        if found is None or not found.is_same_text(stamp):
            raise Replaced

    def _put_back(self, target: str, folder: int, name: str) -> None:
        if not _is_there(target, folder):
            return
        if _is_there(name, self._folders.ingest):  # the suffix stays, by which the file is read
            name = f"{token_hex(4)}-{name}"
        os.rename(target, name, src_dir_fd=folder, dst_dir_fd=self._folders.ingest)


def _check(stamp: Stamp, max_bytes: int) -> None:
    if not stamp.is_single_file:
        raise Rejection("not_regular_file", _what_it_is(stamp))
    if stamp.size > max_bytes:
        raise Rejection("file_too_large", f"the file has {stamp.size} bytes, and {max_bytes} are allowed")


def _bytes_of(descriptor: int, max_bytes: int) -> bytes:
    """Return the bytes of an open file: one more than may be, where it has grown."""
    pieces = []
    room = max_bytes + 1
    while room > 0 and (piece := os.read(descriptor, min(room, _CHUNK))):
        pieces.append(piece)
        room -= len(piece)
    return b"".join(pieces)


def _seen(name: str, folder: int) -> Stamp | None:
    try:
        return Stamp.of(os.stat(name, dir_fd=folder, follow_symlinks=False))
    except FileNotFoundError:
        return None


def _is_there(name: str, folder: int) -> bool:
    return _seen(name, folder) is not None


def _leads_elsewhere(error: OSError) -> bool:
    """Tell whether a file could not be opened because it is none any more: it is a link, a socket, a folder."""
    return error.errno in (errno.ELOOP, errno.ENXIO, errno.EISDIR)


def _what_it_is(stamp: Stamp) -> str:
    if stat.S_ISREG(stamp.mode):
        return "the file has other names, too"
    return "it is a link" if stat.S_ISLNK(stamp.mode) else "it is no regular file"
