"""How many files and sockets this process may have open, and how many of them may be connections to its fronts."""

from __future__ import annotations

import resource
from typing import Final

import structlog

from elf.config.limits import Limits

# Of a process: the program's own files, its pools to models and the index, a backup, and some to spare.
RESERVED: Final = 160
FEWEST: Final = 8  # connections of a front, however few descriptors there are
MOST: Final = 4096  # of a front by itself: each costs some 50 kB while it is served
# gRPC cannot close one that is idle for another, and one costs 15 kB: so many that it takes a flood to use them up.
MOST_GRPC: Final = 16_384

log = structlog.get_logger()


def raise_limit() -> None:
    """Allow this process, and those it starts, as many descriptors as the system lets it have."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == hard:
        return
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (hard, hard))
    except (ValueError, OSError) as error:  # some systems name no limit and have one all the same
        log.info("descriptor_limit_kept", limit=soft, error=str(error))


def connection_limit(limits: Limits | None, *, fronts: int, pooled: int, most: int = MOST) -> int:
    """Return how many connections each of `fronts` may hold beside `pooled` ones to the database.

    That is what `limits` say, or `most` without them, as far as the process's limit of descriptors allows.
    """
    wanted = limits.max_connections if limits else most
    soft, _ = resource.getrlimit(resource.RLIMIT_NOFILE)
    allowed = wanted if soft == resource.RLIM_INFINITY else (soft - RESERVED - pooled) // fronts
    if allowed < wanted:
        log.info("few_descriptors", limit=soft, connections_per_front=max(allowed, FEWEST))
    return max(min(allowed, wanted), FEWEST)
