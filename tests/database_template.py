"""A Postgres data folder with the whole schema, made once for a run of the tests and copied wherever a service starts.

Making a data folder and applying every migration takes a service two seconds of processor time, copying 50 ms.
"""

from __future__ import annotations

import asyncio
import atexit
import fcntl
import os
import shutil
import subprocess
import tempfile
import tomllib
from functools import cache
from pathlib import Path
from typing import Final

from actors.families import steps_on
from elf.db import migration
from elf.db.cluster import SETTINGS
from elf.db.embedded import EmbeddedServer
from tests.in_memory import IN_MEMORY_ENV

VECTOR_DIM: Final = 384


def copy_template_for(config: Path) -> None:
    """Give the embedded Postgres of a config its database, unless it has one; no other Postgres is touched."""
    dsn: str = tomllib.loads(config.read_text(encoding="utf-8"))["storage"]["postgres"]["dsn"]
    scheme, _, path = dsn.partition(":")
    if scheme == "embedded" and not (folder := config.parent / path).exists():
        folder.parent.mkdir(parents=True, exist_ok=True)
        # The owner has to stay: Postgres runs as another user when the tests run as root.
        subprocess.run(["cp", "-a", _template(), folder], check=True)


@cache
def _template() -> Path:
    """Return the folder that is copied. All workers of a run share one: the first that needs it makes it."""
    if (shared := os.environ.get(IN_MEMORY_ENV)) is None:
        parent = Path(tempfile.mkdtemp(prefix="elf-template-"))
        parent.chmod(0o711)
        atexit.register(shutil.rmtree, parent)
    else:
        parent = Path(shared)
    with (parent / "template.lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder := parent / "template").exists():
            asyncio.run(_make(parent / "template.new"))
            (parent / "template.new").rename(folder)
    return folder


async def _make(folder: Path) -> None:
    server = EmbeddedServer(folder, settings={**SETTINGS, "fsync": "off"})
    dsn = await server.start()
    await migration.apply(dsn, steps_on(), vector_dim=VECTOR_DIM)
    await server.leave()
