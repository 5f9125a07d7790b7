"""What families share that erase all of somebody."""

from __future__ import annotations

from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from elf.core.errors import InvalidRequest
from elf.offers import Subject

MOST_PASSES: Final = 5


async def in_passes(kinds: Iterable[str], once: Callable[[], Awaitable[Mapping[str, int]]]) -> Counter[str]:
    """Erase until a pass finds nothing, so that what was being written meanwhile goes, too.

    `once` erases all that it finds, and returns how much of each kind went. Who goes on writing all the while is not
    waited for: after MOST_PASSES it ends. Returns how much went of each of the kinds, and of others that were found.
    """
    gone = Counter(dict.fromkeys(kinds, 0))
    for _ in range(MOST_PASSES):
        some = await once()
        gone.update(some)
        if not any(some.values()):
            break
    return gone


class NotTakenAlong:
    """What Subjects do besides erasing, where nothing is to be taken along."""

    async def export(self, subject: Subject) -> AsyncGenerator[Mapping[str, Any], None]:
        """Yield nothing."""
        nothing: Sequence[Mapping[str, Any]] = ()
        for one in nothing:
            yield one

    async def take_in(self, exported: Sequence[Mapping[str, Any]]) -> int:
        """Raise InvalidRequest for anything: nothing is exported."""
        if exported:
            raise InvalidRequest("this is nothing that was exported: of this nothing is")
        return 0
