"""Ids as people type them: whole, or by how they begin."""

from __future__ import annotations

import re
from typing import Literal
from uuid import UUID

from elf.cli.client import Service
from elf.cli.outcome import Refused
from elf.cli.text import plain
from elf.client.calls import Calls

Kind = Literal["note", "version", "search", "result"]

_BEGINNING = re.compile(r"[0-9a-fA-F]{8}(-?[0-9a-fA-F]){0,23}")


async def whole_id(service: Service, within: Calls, given: str, *, kind: Kind) -> str:
    """Return the id that begins as given and that the context may read; what is no beginning is returned as it is.

    Raises Refused when there is none, or more than one.
    """
    if not _BEGINNING.fullmatch(given):
        return given  # a whole id; or none, as whoever it is sent to will say
    found = (await service.ask(within.find_ids(given, kind=kind))).check().body["items"]
    if len(found) == 1:
        return str(UUID(found[0]["id"]))
    if not found:
        where = f"tenant {plain(within.tenant_id)}, project {plain(within.project_id)}, agent {plain(within.agent_id)}"
        raise Refused(f"no {kind} begins with {given} in this context ({where})")
    several = "\n".join(f"  {item['id']}  {plain(item['text'])}" for item in found)
    raise Refused(f"more than one {kind} begins with {given}; name one of them by more of its id:\n{several}")
