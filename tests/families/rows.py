"""The rows of the isolation table as data: who calls, what a family has, and what of it somebody could be after."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from typing import Any, Final, Protocol

from tests.families.fronts import Front, Reply
from tests.families.identities import Identities, Identity

Arguments = Mapping[str, Any]


class Kind(Enum):
    """How a caller stands to the owner."""

    FOREIGN = "of another tenant or project: nothing there is known to it"
    COLLEAGUE = "another agent of the same project: it sees what they share"
    INCOMPLETE = "one that leaves out a part of the context: what is private is not known to it"
    NARROW = "one that speaks for the owner's agent by a read profile without what is private"
    STRANGER = "another user of the same tenant, whom nobody shares anything with: it is forbidden by name"


FOREIGN, COLLEAGUE, INCOMPLETE, NARROW, STRANGER = Kind
EVERYBODY: Final = frozenset(Kind)


@dataclass(frozen=True, slots=True)
class Caller:
    """Somebody else than the owner: how its context differs from the owner's, where None leaves a field out.

    Some have things of their own (`is_owner`), which they may send instead. Where callers are asked who they are,
    `identity` is what it proves; `leaves_out` are the fields of its context, and others, that it never sends, because
    they bind it. With a `role_alone` it differs from others on the front of operators only. Whatever it asks for with
    the field `naming`, or at all without one, is answered with the status `always`. Who has another value of one of the
    fields `apart` is FOREIGN. What it `says` of itself where nobody proves anything are headers, with the fields of its
    context filled in.
    """

    name: str
    kind: Kind
    changes: Mapping[str, str | None]
    is_owner: bool = False
    identity: Identity | None = None
    leaves_out: frozenset[str] = frozenset()
    naming: str = ""
    role_alone: bool = False
    always: int | None = None
    apart: tuple[str, ...] = ("tenant_id", "project_id")
    says: Mapping[str, str] = field(default_factory=dict)

    def context(self, place: Mapping[str, str]) -> dict[str, str]:
        """The context that it has, the owner's being `place`."""
        changed = {**place, **{key: _changed(value, place[key]) for key, value in self.changes.items()}}
        return {key: value for key, value in changed.items() if value is not None}

    def sent(self, arguments: Arguments) -> dict[str, Any]:
        """The fields of a request that it sends."""
        return {key: value for key, value in arguments.items() if key not in self.leaves_out}

    def headers(self, identities: Identities | None, place: Mapping[str, str]) -> Mapping[str, str] | None:
        """What proves who it is, or says so where nobody is asked; None where nobody says it either."""
        context = self.context(place)
        if identities is None or self.identity is None:
            return {name: value.format(**context) for name, value in self.says.items()} or None
        return identities.headers(self.identity, context)

    def seen_at(self, front: Front, name: str, place: Mapping[str, str]) -> Caller:
        """The caller as a front makes it that fills in what is left out: who it is then."""
        fills = front.fills(name)
        given = {key: fills.get(key) if value is None else value for key, value in self.changes.items()}
        if None not in self.changes.values() or None in given.values():
            return self
        is_elsewhere = any(given.get(key, place[key]) != place[key] for key in self.apart)
        return replace(self, kind=FOREIGN if is_elsewhere else COLLEAGUE, always=None)


def _changed(value: str | None, owners: str) -> str | None:
    return None if value is None else value.format(owners, upper=owners.upper())


CALLERS: Final = (
    Caller("another tenant", FOREIGN, {"tenant_id": "{0} of others"}, is_owner=True),
    Caller("another project", FOREIGN, {"project_id": "{0}2"}),
    Caller("capitals", FOREIGN, {"tenant_id": "{upper}"}),
    Caller("a pattern", FOREIGN, {"tenant_id": "%"}),
    Caller("wrong tenant alone", FOREIGN, {"tenant_id": "%", "project_id": None, "agent_id": None}),
    Caller("another agent", COLLEAGUE, {"agent_id": "{0}2"}, is_owner=True),
    Caller("no tenant", INCOMPLETE, {"tenant_id": None}),
    Caller("no project", INCOMPLETE, {"project_id": None}),
    Caller("no agent", INCOMPLETE, {"agent_id": None}),
    Caller("no context", INCOMPLETE, {"tenant_id": None, "project_id": None, "agent_id": None}),
)


class World(Protocol):
    """An owner with things of its own, in places that nobody else uses, and callers with some of theirs."""

    @property
    def place(self) -> Mapping[str, str]:
        """The owner's context."""
        ...

    def hidden_from(self, kind: Kind) -> Iterable[str]:
        """Ids, words and cursors that a caller of this kind must never be told."""
        ...

    def unknown(self, kind: Kind) -> World:
        """The same world, but that the ids which a caller of this kind must not be told are of nothing that exists."""
        ...

    def of(self, caller: Caller) -> World:
        """What a caller has that owns things itself."""
        ...

    def state(self) -> object:
        """Everything that the owner has, read anew."""
        ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Attempt:
    """One way to ask for something of the owner.

    `arguments` returns the fields to send beside the context, from the owner's world and the caller's own, which only
    callers have that are owners (`by_owners`). Callers of the kinds `refused` must be answered as if what they name did
    not exist, those of the kinds `forbidden` with 403; the others may be served, and are told nothing that is hidden
    from them. Kinds that may do the very thing are not in `tried_by`. `owner_sees`: the owner's own answer must tell
    something that is hidden from others. `check` returns what else is wrong with an answer, or None.
    """

    label: str
    arguments: Callable[[Any, Any], Arguments] = lambda world, own: {}
    refused: frozenset[Kind] = frozenset()
    forbidden: frozenset[Kind] = frozenset()
    tried_by: frozenset[Kind] = EVERYBODY
    owner_sees: bool = True
    by_owners: bool = False
    check: Callable[[Reply, Any], str | None] | None = None

    def is_for(self, caller: Caller) -> bool:
        return caller.kind in self.tried_by and (caller.is_owner or not self.by_owners)


def as_it_is(sent: Arguments) -> Arguments:
    """Return a request as it is sent."""
    return sent


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """All attempts at one operation, and at the tools that do the same.

    `open_to` says of the kinds of callers for which nothing is tried why they may. `whole_service` says why the
    operation is about nobody's memory; then it takes no context but what is `asked`, and its answer must not tell
    anything hidden; it is `open_to_nobody` when even nobody may ask. `role` names the role that it needs beyond what
    its front does: where nobody has it, the owner is refused as well. It `spans` tenants when it is about all of them
    for an operator who names none; then INCOMPLETE callers are tried only where everybody is asked who it is. What it
    `lacks` are fields of the context that it does not take; `sent_as` puts those that it has elsewhere where they are.
    `unbound_only` says why it is for those alone who are bound to no more than a tenant: where everybody is asked who
    it is, the owner is bound to a project, and is forbidden.
    """

    names: Sequence[str]
    attempts: Sequence[Attempt] = ()
    open_to: Mapping[Kind, str] = field(default_factory=dict)
    whole_service: str = ""
    asked: Arguments = field(default_factory=dict)
    role: str = ""
    open_to_nobody: bool = False
    spans: bool = False
    lacks: frozenset[str] = frozenset()
    sent_as: Callable[[Arguments], Arguments] = as_it_is
    unbound_only: str = ""


def rows_of(rows: Iterable[Row], operations: Iterable[str]) -> list[Row]:
    """Return the rows of these operations alone, in the order of the table."""
    wanted = {*operations}
    narrowed = [replace(row, names=[name for name in row.names if name in wanted]) for row in rows]
    return [row for row in narrowed if row.names]
