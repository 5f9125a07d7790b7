"""Where tests make their folders: in memory, where there is room.

Databases and indexes wait for the disk before they say that something is kept, when they are made most of all. A test
ends processes and never the machine, and what a killed process has written is still there without the disk, too.
"""

from __future__ import annotations

import os
import shutil
import tempfile
from pathlib import Path
from typing import Final

import psutil

MEMORY: Final = Path("/dev/shm")  # Linux
LEAST_FREE_BYTES: Final = 6 << 30  # three times what all of the tests have at a time
IN_MEMORY_ENV: Final = "ELF_TESTS_IN_MEMORY"  # names the folder for the processes that a run starts
PREFIX: Final = "elf."  # short, since paths of sockets have to be


def work_in_memory() -> Path | None:
    """Let this process and all that it starts make temporary folders in memory.

    Returns the folder of them all, which whoever gets it removes in the end. None: they stay where they are, since
    somebody has said where (TMPDIR), such as another process of this run of tests, or there is no room.
    """
    if "TMPDIR" in os.environ or not _has_room():
        return None
    _remove_abandoned()
    folder = MEMORY / f"{PREFIX}{os.getpid()}"
    folder.mkdir()
    folder.chmod(0o711)  # Postgres runs as another user when the tests run as root
    os.environ["TMPDIR"] = os.environ[IN_MEMORY_ENV] = tempfile.tempdir = str(folder)
    return folder


def _has_room() -> bool:
    if not os.access(MEMORY, os.W_OK) or os.statvfs(MEMORY).f_flag & os.ST_NOEXEC:
        return False
    return min(shutil.disk_usage(MEMORY).free, psutil.virtual_memory().available) >= LEAST_FREE_BYTES


def _remove_abandoned() -> None:
    """Remove what tests have left that were killed."""
    for folder in MEMORY.glob(f"{PREFIX}*"):
        if not psutil.pid_exists(int(folder.name.removeprefix(PREFIX))):
            shutil.rmtree(folder, ignore_errors=True)
