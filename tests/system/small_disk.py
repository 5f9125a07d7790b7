"""Runs a command that sees a small disk of its own at a folder (Linux).

    python small_disk.py FOLDER MEGABYTES COMMAND...

It takes a mount namespace, which an ordinary user may make on most systems; where not, the exit code is CANNOT.
"""

from __future__ import annotations

import ctypes
import os
import subprocess
import sys
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Final

CANNOT = 77
_REPO: Final = Path(__file__).resolve().parents[2]
_NEW_MOUNTS, _NEW_USER = 0x00020000, 0x10000000
_RECURSIVE, _PRIVATE = 0x4000, 0x40000


def main(folder: str, megabytes: str, *command: str) -> None:
    """Become the command."""
    libc = ctypes.CDLL(None)
    if not _separate(libc):
        sys.exit(CANNOT)
    options = f"size={megabytes}m,mode=0755".encode()
    if libc.mount(b"none", b"/", None, _RECURSIVE | _PRIVATE, None) or libc.mount(
        b"tmpfs", os.fsencode(folder), b"tmpfs", 0, options
    ):
        sys.exit(CANNOT)
    os.execvp(command[0], command)


def completed(
    disk: Path, megabytes: str, function: Callable[..., None], *paths: Path
) -> subprocess.CompletedProcess[str]:
    """Call a function of a module with paths, in a process that sees the small disk at a folder."""
    program = (
        f"import sys; from pathlib import Path; from {function.__module__} import {function.__name__} as call;"
        "call(*map(Path, sys.argv[1:]))"
    )
    return subprocess.run(
        [sys.executable, __file__, str(disk), megabytes, sys.executable, "-c", program, *map(str, paths)],
        cwd=_REPO, env=os.environ | {"PYTHONPATH": str(_REPO)}, capture_output=True, text=True, check=False,
    )  # fmt: skip


def fill(file: Path) -> None:
    """Write until the disk is full."""
    with file.open("ab", buffering=0) as filler:
        for size in (1_000_000, 4096, 1):
            with suppress(OSError):
                while True:
                    filler.write(bytes(size))


def _separate(libc: ctypes.CDLL) -> bool:
    if libc.unshare(_NEW_MOUNTS) == 0:
        return True
    user, group = os.geteuid(), os.getegid()
    if libc.unshare(_NEW_MOUNTS | _NEW_USER) != 0:
        return False
    Path("/proc/self/setgroups").write_text("deny")
    Path("/proc/self/uid_map").write_text(f"{user} {user} 1")
    Path("/proc/self/gid_map").write_text(f"{group} {group} 1")
    return True


if __name__ == "__main__":
    main(*sys.argv[1:])
