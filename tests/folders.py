"""Folders for services and servers."""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def fresh_folder() -> Iterator[Path]:
    """A new folder, deleted afterwards.

    Not one of pytest's: each start of pytest takes away other users' way to all of them, and Postgres runs as another
    user when the tests run as root.
    """
    folder = Path(tempfile.mkdtemp(prefix="elf-tests-"))
    try:
        yield folder
    finally:
        shutil.rmtree(folder)
