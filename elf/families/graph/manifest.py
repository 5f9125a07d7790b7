"""The graph family, as everything that knows only families sees it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final

from elf.config.tables.graph import GraphTable
from elf.families.graph.api.operations import ADMIN_OPERATIONS, OPERATIONS
from elf.families.graph.api.spans import MEMORY_SPANS
from elf.families.graph.api.tools import TOOLS, instructions
from elf.families.graph.model import FAMILY
from elf.family import Family, Opened

if TYPE_CHECKING:
    from elf.config.model import Config
    from elf.ground import Ground


def _open(ground: Ground) -> Opened:
    from elf.families.graph.opening import open_graph

    return open_graph(ground)


async def _compact(config: Config, connection: Any) -> int:
    from elf.families.graph.compacting import compact

    return await compact(config, connection)


GRAPH: Final = Family(
    name=FAMILY,
    table=GraphTable,
    operations=OPERATIONS,
    admin_operations=ADMIN_OPERATIONS,
    tools=TOOLS,
    about=instructions,
    open=_open,
    spans=MEMORY_SPANS,
    compact=_compact,
)
