"""Another process that writes to a memory: `python -m tests.db.graph.other_writer ROOT NAME COUNT`."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import anyio

from elf.core.clock import SystemClock
from tests.db.graph.graph_kit import KEY, file_kit, memory, opened, put


async def main(root: Path, name: str, count: int) -> None:
    async with anyio.create_task_group() as group:
        file = await opened(group, root, KEY, file_kit(SystemClock()))
        for number in range(count):
            await put(file, memory(f"{name}-{number}"), memory("shared", importance=number))
            os.write(sys.stdout.fileno(), f"{number}\n".encode())
        group.cancel_scope.cancel()


if __name__ == "__main__":
    anyio.run(main, Path(sys.argv[1]), sys.argv[2], int(sys.argv[3]))
