"""logs/memory.log: a line of JSON for each thing that was done; a full one becomes memory.log.1."""

from __future__ import annotations

import errno
import fcntl
import json
import os
from collections.abc import Callable, Mapping, Sequence
from contextlib import ExitStack, suppress
from pathlib import Path
from typing import Any, Final
from uuid import uuid4

import structlog

from elf.core.errors import Unavailable
from elf.core.whole_words import whole_words

FULL_BYTES: Final = 8 * 1024 * 1024
"""From which size on a log file is put aside, in the place of the one before it."""
_CAREFUL: Final = os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC
_FOLDER: Final = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_FLAGS: Final = os.O_WRONLY | os.O_APPEND | os.O_CREAT | _CAREFUL
log = structlog.get_logger()


def append_events(
    path: Path | str, events: Sequence[Mapping[str, Any]], *, folder: int | None = None
) -> None:
    """Append events to a log file, in one write so that lines of several processes do not mix. Blocks.

    With the descriptor of a folder, the path begins there; else neither its folder nor the one that this is in is
    followed where it is a link. What was done is done: where it cannot be written, the log of the service says so.
    """
    if not events:
        return
    lines = "".join(f"{json.dumps(event, ensure_ascii=False)}\n" for event in events).encode()
    try:
        with ExitStack() as opened:
            if folder is None:
                path = Path(path)
                above = _folder(opened, str(path.parent.parent), None)
                folder = _folder(opened, path.parent.name, above)
                path = path.name
            _put_aside_if_full(path, folder)
            # Whoever removes lines has it alone: what were appended then would be lost.
            descriptor = _locked(path, _FLAGS, fcntl.LOCK_SH, folder)
            opened.callback(os.close, descriptor)
            _write(descriptor, lines)
    except OSError as error:
        log.warning("memory_log_not_written", events=len(events), error=error.strerror)


def _folder(opened: ExitStack, name: str, parent: int | None) -> int:
    descriptor = os.open(name, _FOLDER, dir_fd=parent)
    opened.callback(os.close, descriptor)
    return descriptor


def _locked(path: Path | str, flags: int, lock: int, folder: int | None = None) -> int:
    """Open and lock a log file, which has its name for as long as it is locked. Raises OSError."""
    while True:
        descriptor = os.open(path, flags, 0o600, dir_fd=folder)
        try:
            fcntl.flock(descriptor, lock)
            with suppress(FileNotFoundError):
                if _has_name(path, descriptor, folder):
                    return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)


def _has_name(path: Path | str, descriptor: int, folder: int | None) -> bool:
    return os.path.samestat(os.stat(path, dir_fd=folder, follow_symlinks=False), os.fstat(descriptor))


def _write(descriptor: int, lines: bytes) -> None:
    if os.write(descriptor, lines) < len(lines):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))


def _put_aside_if_full(path: Path | str, folder: int | None) -> None:
    """Rename a full log file, unless somebody writes to it at this moment: whoever comes next does it."""
    with suppress(FileNotFoundError):  # there is none yet, or another process was first
        if os.stat(path, dir_fd=folder, follow_symlinks=False).st_size < FULL_BYTES:
            return
        descriptor = os.open(path, os.O_RDONLY | _CAREFUL, dir_fd=folder)
        try:
            with suppress(BlockingIOError):
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
                _rename_if_same(path, descriptor, folder)
        finally:
            os.close(descriptor)


def _rename_if_same(path: Path | str, descriptor: int, folder: int | None) -> None:
    """Rename a file whose lock is held, unless its name is another file's by now, which is not full."""
    if _has_name(path, descriptor, folder):
        os.rename(path, f"{path}.1", src_dir_fd=folder, dst_dir_fd=folder)


def remove_lines(path: Path, name: str) -> int:
    """Remove the lines of a log file, and of the one before it, that tell of a name; returns how many. Blocks.

    Raises Unavailable where it cannot be done.
    """
    tells = whole_words([name])
    try:
        return sum(_remove_lines(one, tells) for one in (path, path.with_name(f"{path.name}.1")))
    except OSError as error:
        raise Unavailable(f"{path.name} cannot be rewritten: {error.strerror}") from error


def _remove_lines(path: Path, tells: Callable[[str], bool]) -> int:
    try:
        descriptor = _locked(path, os.O_RDONLY | _CAREFUL, fcntl.LOCK_EX)
    except FileNotFoundError:
        return 0
    with open(descriptor, encoding="utf-8", errors="replace") as file:
        lines = file.readlines()
        kept = [line for line in lines if not tells(line)]
        if len(kept) < len(lines):
            rewritten = path.with_name(f".{path.name}.{uuid4().hex}")
            rewritten.touch(mode=0o600)
            rewritten.write_text("".join(kept), encoding="utf-8")
            rewritten.replace(path)
    return len(lines) - len(kept)
