"""Puts a damaged memory.db aside, so that a new one can be made, while the service goes on."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Sequence

from anyio import to_thread

from elf.families.graph.store.damage import put_aside_if_damaged
from elf.families.graph.store.file import FileKit
from elf.families.graph.store.layout import Layout
from elf.families.graph.store.presence import alone_with


async def set_aside_damage(
    layout: Layout, kit: FileKit, give_up: Callable[[], Awaitable[None]]
) -> Sequence[str]:
    """Put a file aside if it is damaged, once nobody has it open any more, here or in another process.

    `give_up` says before that the file is to be made anew, or else one that was put aside would be taken for lost.
    Return what its files are called from now on, by their names in the folder of the memory; nothing of a file that is
    sound, which stays. Raises Unavailable when others do not let go of it, or it cannot be renamed.
    """
    async with alone_with(layout):
        await give_up()
        return await to_thread.run_sync(
            put_aside_if_damaged, layout, kit.clock.now(), limiter=kit.write_threads
        )
