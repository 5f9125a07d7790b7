"""Opening a space's shard: the one that is there when it can be trusted, else a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elf.index.edge.folder import Layout, ShardFolder
from elf.index.edge.shard import Shard, ShardDamaged
from elf.index.space import Space

LAYOUT_VERSION: Final = 1  # raise it when what a point stores changes
MAX_FAILED_OPENINGS: Final = 2


@dataclass(frozen=True, slots=True)
class Opened:
    """A shard and the state it was found in.

    fresh: it was made now and is empty. clean: it was closed in order, and holds as many points as it did
    then. damage: why the shard that was there had to go, when one was.
    """

    shard: Shard
    fresh: bool
    clean: bool
    damage: str | None = None


def open_shard(folder: ShardFolder, space: Space, *, vector_dim: int) -> Opened:
    """Load the shard of a space whose files this process owns, or replace it when it is damaged or made for another
    layout.

    A load that does not come to its end (the process was killed in it) is tried once more, then the shard
    counts as damaged: its files may be what kills the process. Raises OSError, and Refused or ShardDamaged
    when even a new shard cannot be made.
    """
    mark = folder.take_clean_mark()
    layout = Layout(version=LAYOUT_VERSION, vector_dim=vector_dim, avg_len=space.average_length)
    failed = folder.begin_opening()
    damage = None
    if folder.read_layout() == layout and failed < MAX_FAILED_OPENINGS:
        try:
            shard = Shard.load(folder.shard, space, vector_dim=vector_dim)
        except ShardDamaged as error:
            damage = str(error)
        else:
            folder.end_opening()
            return Opened(shard, fresh=False, clean=mark is not None and mark.points == len(shard))
    folder.discard_shard()
    shard = Shard.create(folder.shard, space, vector_dim=vector_dim)
    folder.write_layout(layout)
    folder.end_opening()
    return Opened(shard, fresh=True, clean=False, damage=damage)
