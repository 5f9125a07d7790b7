"""The part of the composition root that knows who shares the notes."""

from __future__ import annotations

import os
import socket
from uuid import UUID

from actors.fleet_watch import FleetWatch
from actors.shared_parts import SharedParts
from elf.families.notes.fleet import Fleet, FleetRegister, Member
from elf.indexing.embedding import TextEmbedder


def add_fleet(
    shared: SharedParts, texts: TextEmbedder | None, *, indexes: bool, process: str | None
) -> Fleet:
    """Add what watches the other processes. `texts` is what this one embeds notes with, if it does."""
    own = None if texts is None else Member(_name(process), texts.version, texts.chunking, indexes)
    fleet = Fleet(shared.config.embedding_version, None if texts is None else texts.chunking)
    register = FleetRegister(
        database=shared.database,
        queries=shared.queries,
        process_id=UUID(shared.process_id),
        own=own,
        fleet=fleet,
    )
    shared.supervisor.add(FleetWatch(fleet, register), needs=["database"])
    shared.metrics.watch_fleet(fleet, own)
    return fleet


def _name(process: str | None) -> str:
    place = f"{socket.gethostname()}:{os.getpid()}"
    return place if process is None else f"{process}@{place}"
