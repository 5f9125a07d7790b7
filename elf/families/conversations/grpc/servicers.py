"""Every service of memory.v1."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Final

from elf.api.bound import raised
from elf.api.rpc import Rpc, Servicer
from elf.config.tables.conversations import Bounds
from elf.families.conversations.api.bounded import bounded
from elf.families.conversations.api.fields import STANDARD
from elf.families.conversations.grpc.conversations import CONVERSATIONS, SYSTEM
from elf.families.conversations.grpc.entries import ENTRIES
from elf.families.conversations.grpc.recording import recorder_servicer
from elf.families.conversations.grpc.search import SEARCH
from elf.families.conversations.grpc.sharing import MEMBERSHIPS, TRANSFERS
from elf.families.conversations.recording.recorder import Recorder

OF_OPERATIONS: Final = (SYSTEM, CONVERSATIONS, MEMBERSHIPS, TRANSFERS, ENTRIES, SEARCH)
"""Those that only do what operations do."""


def servicers(recorder: Recorder, bounds: Bounds = STANDARD) -> Sequence[Servicer]:
    """Return the services of a process with this recorder, and with these bounds."""
    return (*(_bounded(servicer, bounds) for servicer in OF_OPERATIONS), recorder_servicer(recorder))


def _bounded(servicer: Servicer, bounds: Bounds) -> Servicer:
    rpcs = {name: _rpc(rpc, bounds) for name, rpc in servicer.rpcs.items() if isinstance(rpc, Rpc)}
    return replace(servicer, rpcs={**servicer.rpcs, **rpcs})


def _rpc(rpc: Rpc, bounds: Bounds) -> Rpc:
    request = None if rpc.request is None else raised(rpc.request, bounds.model_dump())
    return replace(rpc, operation=bounded(rpc.operation, bounds), request=request)
