"""Whose memories are erased or taken along, as the statements know it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

from elf.core.errors import InvalidRequest
from elf.families.knowledge.access import USER_SCOPE
from elf.families.knowledge.model import GLOBAL_SCOPE
from elf.offers import Subject


@dataclass(frozen=True, slots=True)
class Whose:
    """A tenant, whole where `scope` is None; else what is in a scope, and what names `user` as its own, if any.

    `names` are those by which whoever it is stands where it did something.
    """

    tenant_id: str
    scope: str | None = None
    user: str | None = None

    @classmethod
    def of(cls, subject: Subject) -> Self:
        """Return what a subject means. Raises InvalidRequest for an empty name, and for a user and an agent at once."""
        names = {"$.tenant_id": subject.tenant_id, "$.user": subject.user, "$.agent_id": subject.agent_id}
        if empty := [path for path, name in names.items() if name == ""]:
            raise InvalidRequest(f"{', '.join(empty)}: is empty", fields=empty)
        if subject.user is not None and subject.agent_id is not None:
            fields = ["$.user", "$.agent_id"]
            raise InvalidRequest(f"{', '.join(fields)}: a user or an agent, not both at once", fields=fields)
        if subject.agent_id == GLOBAL_SCOPE:
            raise InvalidRequest("$.agent_id: what is global is the tenant's", fields=["$.agent_id"])
        if subject.user is not None:
            return cls(subject.tenant_id, f"{USER_SCOPE}{subject.user}", subject.user)
        return cls(subject.tenant_id, subject.agent_id)

    @property
    def names(self) -> list[str]:
        return [name for name in (self.user, self.scope) if name is not None]
