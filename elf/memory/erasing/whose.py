"""Who is erased, taken along, or looked for."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

import msgspec

from elf.api.audit import DataSubject
from elf.api.caller import Caller
from elf.core.errors import InvalidRequest, ScopeDenied
from elf.memory.api.erasing import WholeTenant, Whose
from elf.offers import Subject


def _refuse_unclear(request: Whose) -> None:
    named = {"$.user_id": request.user_id, "$.agent_id": request.agent_id}
    if isinstance(request, WholeTenant):
        named["$.everything"] = None if request.everything is None else "everything"
    given = [path for path, value in named.items() if value is not None]
    if len(given) > 1:
        raise InvalidRequest(f"{', '.join(given)}: exactly one of them says who is meant", fields=given)
    if not given and isinstance(request, WholeTenant):
        raise InvalidRequest(f"{', '.join(named)}: one of them has to say who is meant", fields=[*named])


class Somebody(DataSubject):
    """Whom an erasure, an export or a search is about."""

    @classmethod
    def of(cls, request: Whose, caller: Caller) -> Self:
        """Return whom a request means.

        Raises InvalidRequest where it does not say so, and ScopeDenied where the caller is bound to less than that: to
        an agent, to a project, which is a user's, or to what a read profile shows.
        """
        if request.user_id is not None and "agent_id" in caller.bound:
            raise ScopeDenied("$.user_id: who calls is bound to an agent", fields=["$.user_id"])
        _refuse_unclear(request)
        project = caller.bound.get("project_id")
        if "read_profile" in caller.bound or project not in (None, request.user_id):
            path = "$.user_id"
            raise ScopeDenied(f"{path}: who calls is bound to less than all of it", fields=[path])
        return cls(*request.named())

    @property
    def encoded(self) -> bytes:
        """As bytes that are nobody else's."""
        return msgspec.json.encode(["elf", *self])

    def subject(self, conversations: Iterable[str] = ()) -> Subject:
        """Return them as families know them, with the conversations that are theirs."""
        return Subject(
            tenant_id=self.tenant_id,
            user=self.name if self.kind == "user" else None,
            agent_id=self.name if self.kind == "agent" else None,
            conversations=frozenset(conversations),
        )
