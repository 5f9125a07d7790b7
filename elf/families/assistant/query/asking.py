"""What a request asks for, checked before anything is read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.families.assistant.access import Access
from elf.families.assistant.api.querying import Asked
from elf.families.assistant.model import MEMORY_TYPES
from elf.families.assistant.rules.categories import PROCEDURAL, Allowlists, Readable
from elf.families.assistant.rules.filters import Filters

RECALL_TOP_K: Final = 3
RECALL_TOKENS: Final = 512


@dataclass(frozen=True, slots=True, kw_only=True)
class Wanted:
    """Who asks, and what the answer may have."""

    agent: str
    readable: Readable
    filters: Filters


def wanted(request: Asked, caller: Caller, allowlists: Allowlists, access: Access) -> Wanted:
    """Return what a request asks for. Raises InvalidRequest and ScopeDenied with the paths at fault."""
    agent = _agent(request)
    _check_thread(request)
    readable = allowlists.readable(
        agent, categories=request.categories, category=request.filters.category, types=request.types
    )
    given = request.filters
    place = access.place(request.tenant_id, given.user_id, caller, path="$.filters.user_id")
    types = request.types or [name for name in MEMORY_TYPES if name != PROCEDURAL or readable.has_steps]
    filters = Filters(
        place=place, categories=readable.categories, types=list(dict.fromkeys(types)), agent_id=given.agent_id,
        run_id=given.run_id, actor_id=given.actor_id, role=given.role, pinned=given.pinned,
        importance_min=given.importance_min, importance_max=given.importance_max,
        updated_after=given.updated_after, updated_before=given.updated_before,
    )  # fmt: skip
    return Wanted(agent=agent, readable=readable, filters=filters)


def _agent(request: Asked) -> str:
    path = "$.agent"
    if request.agent is None:
        if request.agent_id is None:
            raise InvalidRequest(f"{path}: is required, as the caller is bound to no agent", fields=[path])
        return request.agent_id
    if request.agent_id not in (None, request.agent):
        raise ScopeDenied(f"{path}: is another one than $.agent_id", fields=[path])
    return request.agent


def _check_thread(request: Asked) -> None:
    if request.since_rev is not None and request.thread_id is None:
        path = "$.since_rev"
        raise InvalidRequest(f"{path}: needs $.thread_id, whose revision it is", fields=[path])
    if request.reason != "recall":
        return
    too_much: Mapping[str, Any] = {
        "$.return": request.form != "bullets",
        "$.top_k": request.top_k > RECALL_TOP_K,
        "$.budget_tokens": request.budget_tokens > RECALL_TOKENS,
    }
    if paths := [path for path, is_so in too_much.items() if is_so]:
        raise InvalidRequest(
            f"{', '.join(paths)}: a recall has at most {RECALL_TOP_K} bullets of {RECALL_TOKENS} tokens in all",
            fields=paths,
        )
