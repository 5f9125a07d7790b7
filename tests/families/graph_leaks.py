"""Slips in what keeps the memories of orchestrators apart, which the isolation table has to find."""

from __future__ import annotations

from typing import Any, Final

import pytest

from elf.families.graph.orchestrators import Orchestrators, Residence
from elf.families.graph.store.statements import OwnerKey
from tests.families.leaks import Leak, Leaks

MODULES: Final = (
    "service", "memory_writing", "memory_listing", "sharing", "erasing", "recovering", "status", "ingest.service",
)  # fmt: skip
"""Those that ask who may use a memory."""

_HOME: Final = "it tells which host has a memory, and no more than whether there is one"
_TOLD: Final = "nobody asks for it: it is of the orchestrator whose file is told of, or erased"
READING: Final = (
    "graph_list_memories", "graph_get_memory", "graph_memory_history", "graph_memory_edges",
    "graph_list_contradictions", "graph_recall", "graph_context", "graph_bulletin",
)  # fmt: skip
_OF_FILES: Final = ("graph_list_ingested", "graph_status")
CHANGING: Final = (
    "graph_update_memory", "graph_supersede_memory", "graph_retract_memory", "graph_restore_memory",
    "graph_resolve_contradiction", "graph_resolve", "graph_write_edges", "graph_remember", "graph_write_diagnostics",
)  # fmt: skip
_ADDING: Final = (
    "graph_write_transcript", "graph_write_output", "graph_ingest_now", "graph_recover", "graph_write_memories",
    "graph_erase",
)  # fmt: skip


async def _anybody(*_: object) -> None:
    """Refuses nobody."""


def _without_scope(patch: pytest.MonkeyPatch, world: Any) -> None:
    for module in MODULES:
        patch.setattr(f"elf.families.graph.{module}.check_scope", _anybody)


def _the_owners(patch: pytest.MonkeyPatch, world: Any) -> None:
    """Whoever asks gets the memory of the owner."""
    residence, known = Orchestrators.residence, Orchestrators.known
    owner = OwnerKey(world.place["tenant_id"], world.place["orchestrator_id"])

    async def of_the_owner(orchestrators: Orchestrators, _: OwnerKey) -> Residence:
        return await residence(orchestrators, owner)

    async def known_of_the_owner(orchestrators: Orchestrators, _: OwnerKey) -> Residence | None:
        return await known(orchestrators, owner)

    patch.setattr(Orchestrators, "residence", of_the_owner)
    patch.setattr(Orchestrators, "known", known_of_the_owner)


LEAKS: Final = Leaks(
    reading=[
        Leak(
            name="orchestrators may say that they are others",
            plant=_without_scope,
            operations=(*READING, *_OF_FILES),
        ),
        Leak(name="a memory is anybody's", plant=_the_owners, operations=READING),
    ],
    changing=[
        Leak(
            name="orchestrators change memories of others",
            plant=_without_scope,
            operations=(*CHANGING, "graph_share", *_ADDING),
        ),
        Leak(name="a memory is changed by anybody", plant=_the_owners, operations=(*CHANGING, "graph_share")),
    ],
    behind_others={
        "count_homes_elsewhere": "it counts where memories are for who erases those of the tenant",
        **dict.fromkeys(["home_of", "count_homes", "homes_of_tenant", "note_made"], _HOME),
        **dict.fromkeys(
            ["folders_of_tenant", "forget_home"], "they are for who erases, or looks for, what a tenant has"
        ),
        **dict.fromkeys(
            ["give_up", "take_over"], "operators ask for it, of an orchestrator by its tenant and name"
        ),
        **dict.fromkeys(["last_change_told", "forget_last_change_told", "erase_told_changes"], _TOLD),
        "page_of_homes": "operators ask for it; that a tenant gets its own alone, the tests of overseeing show",
    },
)
