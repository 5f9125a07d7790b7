"""Who asks the one memory, and about whom."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

from elf.api.caller import Caller
from elf.core.errors import ScopeDenied
from elf.memory.api.fields import AboutSomebody
from elf.offers import Subject


class Asking(NamedTuple):
    """Whom a request is about, and who makes it, as families are told."""

    subject: Subject
    caller: Caller

    @property
    def whose(self) -> tuple[str | None, str | None, str | None, str | None]:
        """What has to be the same for somebody to be told of it later: user, agent, project and read profile."""
        subject = self.subject
        return subject.user, subject.agent_id, subject.project_id, self.caller.bound.get("read_profile")


@dataclass(frozen=True, slots=True)
class Asker:
    """`proves_users` is whether the service asks callers to prove who they are; where it does not, a user's name is
    only a default.
    """

    proves_users: bool

    def of(self, request: AboutSomebody, caller: Caller) -> Asking:
        """Return whom a request is about. Raises ScopeDenied when it names another user than the one who asks."""
        user = request.user_id or caller.user
        if user != caller.user and self.proves_users and caller.user is not None:
            raise ScopeDenied("$.user_id: this is another user", fields=["$.user_id"])
        if request.user_id is not None and not self.proves_users:
            caller = replace(caller, user=user, is_default_user=False)
        return Asking(
            Subject(
                tenant_id=request.tenant_id, user=user, agent_id=request.agent_id, project_id=request.project_id
            ),
            caller,
        )  # fmt: skip
