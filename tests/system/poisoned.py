"""`elf` with a local model that ends its process, as one that runs out of memory does, when it is given a certain text.

    python -m tests.system.poisoned FOLDER up -c CONFIG

It waits while there is a file `wait` in the folder, and bears every text while there is a file `cured`.
"""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Final

import anyio

from elf.commands import elf
from elf.providers.local import embedder
from elf.providers.port import Matrix

POISON: Final = "hemlock"
LOOK_AGAIN_S: Final = 0.01

_embed = embedder.LocalEmbedder.embed


def poison(folder: Path) -> None:
    """Have the model of this process end it."""

    async def embed(self: embedder.LocalEmbedder, texts: Sequence[str]) -> Matrix:
        while (folder / "wait").exists():  # noqa: ASYNC110 - another process takes it away
            await anyio.sleep(LOOK_AGAIN_S)
        if any(POISON in text for text in texts) and not (folder / "cured").exists():
            os.kill(os.getpid(), signal.SIGKILL)
        return await _embed(self, texts)

    embedder.LocalEmbedder.embed = embed  # type: ignore[method-assign]


if __name__ == "__main__":
    poison(Path(sys.argv.pop(1)))
    sys.exit(elf())
