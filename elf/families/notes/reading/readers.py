"""Who reads notes about a subject: in which project, as which agent, and within which scopes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from elf.api.caller import Caller
from elf.core.scopes import AGENT_PRIVATE, ScopeRules
from elf.families.notes.model import Context
from elf.offers import Subject

NO_AGENT = ""  # no note has it


@dataclass(frozen=True, slots=True)
class Reader:
    """A context, and the scopes that are read in it."""

    context: Context
    scopes: Sequence[str]


class NoteReaders:
    """Tells who reads; `profile` is the read profile of those who are bound to none."""

    def __init__(self, scopes: ScopeRules, profile: str) -> None:
        self._scopes = scopes
        self._profile = profile

    def of(self, subject: Subject, caller: Caller) -> Reader | None:
        """Return who reads; None where no project is meant, or one that the caller may not read.

        The project is the subject's, else that of the user's name, else the one that the caller is bound to; so is the
        agent, without whom nothing private is read.
        """
        bound = caller.bound
        project = _first(subject.project_id, subject.user, bound.get("project_id"))
        agent = _first(subject.agent_id, bound.get("agent_id"))
        place = {"tenant_id": subject.tenant_id, "project_id": project, "agent_id": agent}
        if project is None or any(bound.get(name, value) != value for name, value in place.items()):
            return None
        if "project_id" in caller.denied and (subject.project_id is not None or subject.user != caller.user):
            return None
        readable = self._scopes.readable(bound.get("read_profile", self._profile))
        if agent is None:
            readable = tuple(scope for scope in readable if scope != AGENT_PRIVATE)
        return Reader(Context(subject.tenant_id, project, NO_AGENT if agent is None else agent), readable)


def _first(*names: str | None) -> str | None:
    return next((name for name in names if name is not None), None)
