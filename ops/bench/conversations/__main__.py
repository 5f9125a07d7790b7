"""How fast conversations are, each of their operations beside what it cannot do without, measured in the same run.

    python -m ops.bench.conversations [--part append|page|sync|search|evict]

Starts a service of its own for each part, on the embedded Postgres and index, with models that cost next to nothing.
What is compared takes turns, three of them; printed are the medians, and the median of the ratios.

append: 16 clients that append to 16 conversations, over REST and over gRPC, beside bare transactions that write the
same rows in a database aside.

page: 50 entries from the middle of a fork that is 5 deep and shows 10,000, beside the 50 of a plain conversation; the
same with 100 forks of 1,000 entries beside it.

sync: of a memory of 2,000 items in 200 entries: one that changes nothing beside listing it, one item more beside that.

search: 20,000 entries beside searches of as many notes; users of 5,000 trees, begun by
them or shared with them, beside users of 50.

evict: 1,000 trees with 100,000 entries are evicted while 4 clients append; these beside themselves when nothing is.
"""

from __future__ import annotations

import argparse
import asyncio
from collections.abc import Callable, Coroutine, Mapping
from typing import Any, Final

from elf.config import Config, load
from ops.bench.conversations.appending import appending
from ops.bench.conversations.evicting import evicting
from ops.bench.conversations.reading import paging, syncing
from ops.bench.conversations.searching import searching
from ops.bench.conversations.talking import started
from tests.system.service import RunningService

PARTS: Final[Mapping[str, Callable[[Config, RunningService], Coroutine[Any, Any, None]]]] = {
    "append": appending, "page": paging, "sync": syncing, "search": searching, "evict": evicting,
}  # fmt: skip


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--part", choices=tuple(PARTS), help="by default all, one after the other")
    options = parser.parse_args()
    for part in PARTS if options.part is None else (options.part,):
        print(f"{part}:", flush=True)
        with started() as service:
            asyncio.run(PARTS[part](load(service.config), service))


if __name__ == "__main__":
    main()
