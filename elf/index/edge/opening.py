"""Opening a folder's shard: the one that is there when it can be trusted, else a new one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from elf.index.bm25 import Bm25Encoder
from elf.index.edge.folder import IndexFolder, Layout
from elf.index.edge.shard import Shard, ShardDamaged

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


def open_shard(folder: IndexFolder, *, vector_dim: int, avg_len: float) -> Opened:
    """Load the shard of a folder that this process owns, or replace it when it is damaged or made for another
    layout.

    A load that does not come to its end (the process was killed in it) is tried once more, then the shard
    counts as damaged: its files may be what kills the process. Raises OSError, and Refused or ShardDamaged
    when even a new shard cannot be made.
    """
    mark = folder.take_clean_mark()
    layout = Layout(version=LAYOUT_VERSION, vector_dim=vector_dim, avg_len=avg_len)
    encoder = Bm25Encoder(avg_len=avg_len)
    failed = folder.begin_opening()
    damage = None
    if folder.read_layout() == layout and failed < MAX_FAILED_OPENINGS:
        try:
            shard = Shard.load(folder.shard, vector_dim=vector_dim, encoder=encoder)
        except ShardDamaged as error:
            damage = str(error)
        else:
            folder.end_opening()
            return Opened(shard, fresh=False, clean=mark is not None and mark.points == len(shard))
    folder.discard_shard()
    shard = Shard.create(folder.shard, vector_dim=vector_dim, encoder=encoder)
    folder.write_layout(layout)
    folder.end_opening()
    return Opened(shard, fresh=True, clean=False, damage=damage)
