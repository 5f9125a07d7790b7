"""The isolation table: each operation and tool x each caller who must be refused, or must not see something.

A family says in `Row`s what of an owner's `World` somebody could be after, and how. Here it is tried: by every front
that offers the operation, and for every caller. What a caller may not see must not be in the answer, save where it
stands in the request already; what is refused is answered as if it did not exist, word for word; whatever was tried,
the owner finds everything as it was; and the owner is served with the same request, or nothing would be proved.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any, Final

from elf.core.errors import Forbidden
from tests.families.callers import OWNER
from tests.families.fronts import Front, Fronts, Reply
from tests.families.identities import ROLES, Identities
from tests.families.rows import CALLERS, FOREIGN, INCOMPLETE, Arguments, Attempt, Caller, Row, World
from tests.families.stdio_front import StdioFront, StdioFronts

# Callers beside those of the rows: for everything that is offered a page of another site, and for what operators do the
# public front.
PAGE: Final = "foreign page"
OUTSIDE: Final = "public front"
FORBIDDEN: Final = Forbidden.status
# Both are refused before their body is read, upon which a front closes the connection: nobody else may use it.
ALONE: Final = {"Connection": "close"}
PAGE_HEADERS: Final = {"Origin": "https://elsewhere.example", **ALONE}


@dataclass(frozen=True, slots=True)
class Finding:
    """Something that a caller got and must not."""

    name: str
    caller: str
    attempt: str
    fault: str

    def __str__(self) -> str:
        return f"{self.name}, {self.caller}, {self.attempt}: {self.fault}"


@dataclass
class Table:
    """What was tried, by front, name and caller, and what was found."""

    callers: Sequence[Caller]
    tried: dict[tuple[str, str], dict[str, int]] = field(default_factory=lambda: defaultdict(dict))
    findings: list[Finding] = field(default_factory=list)

    def count(self, front: str, name: str, caller: str) -> None:
        cells = self.tried[front, name]
        cells[caller] = cells.get(caller, 0) + 1

    @property
    def cells(self) -> int:
        return sum(len(cells) for cells in self.tried.values())

    @property
    def requests(self) -> int:
        return sum(count for cells in self.tried.values() for count in cells.values())

    def __str__(self) -> str:
        columns = [*(caller.name for caller in self.callers), PAGE, OUTSIDE, OWNER.name]
        bad = {(one.name, one.caller) for one in self.findings}
        lines = [_line("", "", words) for words in _stacked(columns)]
        for (front, name), cells in self.tried.items():
            counts = [f"{'!' * ((name, column) in bad)}{cells.get(column, '-')}" for column in columns]
            lines.append(_line(front, name, counts))
        lines.append(f"{self.cells} cells, {self.requests} requests, {len(self.findings)} findings")
        return "\n".join(lines)


def _stacked(columns: Sequence[str]) -> Iterable[Sequence[str]]:
    """The names with a line for each of their words."""
    return zip_longest(*(column.split() for column in columns), fillvalue="")


def _line(front: str, name: str, cells: Sequence[str]) -> str:
    return f"{front:<14}{name:<22}" + "".join(f"{cell:>9}" for cell in cells)


def without_row(fronts: Fronts, rows: Iterable[Row]) -> list[str]:
    """Return what has to be added to the rows, and what to be taken out, in sentences."""
    named = [name for row in rows for name in row.names]
    offered = {name: words for front in fronts.all for name, words in front.offers.items()}
    missing = [
        f"{words} stands in no row of the isolation table. Say who may not call it, and what they must not see: add a "
        f'Row with the name "{name}" to the rows of its family in tests/families.'
        for name, words in offered.items()
        if name not in named
    ]
    gone = [
        f'the row "{name}" is of nothing that is offered: take it out'
        for name in named
        if name not in offered
    ]
    twice = [f'"{name}" stands in two rows' for name in offered if named.count(name) > 1]
    return [*missing, *gone, *twice]


def examine(
    fronts: Fronts | StdioFronts,
    world: World,
    rows: Iterable[Row],
    *,
    callers: Sequence[Caller] = CALLERS,
    owner: Caller = OWNER,
    until_found: bool = False,
) -> Table:
    """Try every cell of these rows; with `until_found` those of each operation until one is found out."""
    table = Table(callers)
    for row in rows:
        for name in row.names:
            for front in fronts.offering(name):
                _examine(_Trial(fronts, front, name, world, row, table, owner, until_found))
    return table


OF_AUDITORS: Final = frozenset(
    {
        "count_jobs", "count_forgettable", "overview", "index_drift", "compare_index", "ingest_decisions", "list_audit",
    }
)  # fmt: skip
"""What auditors may ask the admin server for."""


@dataclass(frozen=True, slots=True)
class _Trial:
    """One operation or tool at one front."""

    fronts: Fronts | StdioFronts
    front: Front | StdioFront
    name: str
    world: World
    row: Row
    table: Table
    owner: Caller
    until_found: bool = False

    @property
    def is_over(self) -> bool:
        """Whether all that was to be learnt of this operation is known."""
        return self.until_found and any(
            one.name == self.name and one.caller != self.owner.name for one in self.table.findings
        )

    @property
    def identities(self) -> Identities | None:
        """What proves who asks, where anybody is asked."""
        return self.fronts.identities

    def ask(self, caller: Caller, arguments: Arguments) -> Reply:
        self.table.count(self.front.name, self.name, caller.name)
        headers = caller.headers(self.identities, self.world.place)
        sent = {key: value for key, value in caller.sent(arguments).items() if key not in self.row.lacks}
        return self.front.ask(self.name, self.row.sent_as(sent), headers=headers)

    def find(self, caller: str, attempt: str, fault: str) -> None:
        self.table.findings.append(Finding(self.name, caller, attempt, fault))

    def status_for(self, caller: Caller) -> int | None:
        """The status that answers every request of a caller, if one does: 403 where it has not the role."""
        if self.identities is None or caller.identity is None or caller.always == 401:
            return caller.always
        if self.role not in ROLES[caller.identity.role] | {""}:
            return 403
        # What is left out of a path is another name there.
        left_out = {name for name, value in caller.changes.items() if value is None}
        return None if left_out & self.front.in_path(self.name) else caller.always

    @property
    def role(self) -> str:
        """The role that is needed where callers are asked who they are."""
        if self.front is not self.fronts.admin or self.row.open_to_nobody:
            return self.row.role
        return "auditor" if self.name in OF_AUDITORS else "admin"


def _examine(trial: _Trial) -> None:
    _try_strangers(trial)
    if trial.row.whole_service:
        _try_anybody(trial)
        return
    before = None if trial.front.only_reads(trial.name) else trial.world.state()
    for one in trial.table.callers:
        if trial.is_over:
            return
        caller = one.seen_at(trial.front, trial.name, trial.world.place)
        if trial.row.spans and caller.kind is INCOMPLETE and trial.identities is None:
            continue
        if (status := trial.status_for(caller)) is not None:
            _try_refused(trial, caller, status)
        elif caller.kind not in trial.row.open_to:
            _try_caller(trial, caller)
    if before is not None and not trial.is_over and trial.world.state() != before:
        trial.find("somebody", "all attempts", "what the owner has is changed")
    for attempt in trial.row.attempts:
        _try_as_owner(trial, attempt)


def _try_strangers(trial: _Trial) -> None:
    """A page of another site is not served, and the public front does not do what operators do."""
    if not trial.front.is_on_network:
        return
    request = trial.owner.sent(_owners(trial, trial.row.attempts[0])) if trial.row.attempts else {}
    proof = trial.owner.headers(trial.identities, trial.world.place) or trial.front.headers
    trial.table.count(trial.front.name, trial.name, PAGE)
    if trial.front.ask(trial.name, request, headers={**proof, **PAGE_HEADERS}).ok:
        trial.find(PAGE, "any request", "is served")
    if trial.front is trial.fronts.admin and trial.name not in trial.fronts.public.offers:
        trial.table.count(trial.front.name, trial.name, OUTSIDE)
        way = trial.fronts.admin.where(trial.name)
        headers = {**proof, **ALONE}
        if trial.fronts.public.ask_at(way, request, headers=headers).ok:
            trial.find(OUTSIDE, "any request", "is served")


def _owners(trial: _Trial, attempt: Attempt) -> Arguments:
    return {**trial.world.place, **attempt.arguments(trial.world, trial.world)}


def _try_anybody(trial: _Trial) -> None:
    for caller in (trial.owner, *trial.table.callers) if trial.identities else (trial.owner,):
        has_role = caller.identity is None or trial.role in ROLES[caller.identity.role] | {""}
        is_served = trial.row.open_to_nobody or (has_role and caller.always != 401)
        reply = trial.ask(caller, trial.row.asked)
        if reply.ok != (is_served or trial.identities is None):
            trial.find(caller.name, "any request", f"is {'served' if reply.ok else 'refused'}: {reply.text}")
        if told := _told(reply, trial.world.hidden_from(FOREIGN), {}):
            trial.find(caller.name, "any request", f"is told {told}")


def _try_refused(trial: _Trial, caller: Caller, status: int) -> None:
    """Whatever a caller asks that gets no further than to the door; one request of a kind is enough."""
    context = caller.context(trial.world.place)
    arguments = [
        {**context, **one.arguments(trial.world, None)} for one in trial.row.attempts if not one.by_owners
    ]
    for one in [one for one in arguments if not caller.naming or caller.naming in one][:1]:
        reply = trial.ask(caller, one)
        if reply.ok or reply.status != status:
            trial.find(caller.name, "any request", f"gets {reply.status}, not {status}: {reply.text[:200]}")
        if told := _told(reply, trial.world.hidden_from(FOREIGN), one):
            trial.find(caller.name, "any request", f"is told {told}")


def _try_caller(trial: _Trial, caller: Caller) -> None:
    attempts = [one for one in trial.row.attempts if one.is_for(caller)]
    assert attempts, (
        f"the row of {trial.name} says nothing of {caller.name}: add an Attempt, or say why in open_to"
    )
    # Elsewhere than with operators a role changes nothing, and one attempt shows it.
    is_like_others = caller.role_alone and trial.front is not trial.fronts.admin
    for attempt in attempts[:1] if is_like_others else attempts:
        _try(trial, caller, attempt)


def _try(trial: _Trial, caller: Caller, attempt: Attempt) -> None:
    world, context = trial.world, caller.context(trial.world.place)
    own = world.of(caller) if caller.is_owner else None
    arguments = {**context, **attempt.arguments(world, own)}
    reply = trial.ask(caller, arguments)
    if told := _told(reply, world.hidden_from(caller.kind), arguments):
        trial.find(caller.name, attempt.label, f"is told {told}")
    if attempt.check is not None and reply.ok and (fault := attempt.check(reply, own)):
        trial.find(caller.name, attempt.label, fault)
    if caller.kind in attempt.forbidden and reply.status != FORBIDDEN:
        trial.find(caller.name, attempt.label, f"gets {reply.status}, not {FORBIDDEN}: {reply.text[:200]}")
    if caller.kind not in attempt.refused:
        return
    if reply.ok:
        trial.find(caller.name, attempt.label, f"is served: {reply.text[:200]}")
        return
    other = {**context, **attempt.arguments(world.unknown(caller.kind), own)}
    twin = trial.ask(caller, other)
    if _plain(reply, arguments) != _plain(twin, other):
        trial.find(caller.name, attempt.label, f"can tell it from nothing: {reply.text} is not {twin.text}")


def _try_as_owner(trial: _Trial, attempt: Attempt) -> None:
    if trial.row.role and trial.identities is None:
        _try_without_role(trial, attempt)
    elif trial.row.unbound_only and trial.identities is not None:
        _try_bound_owner(trial, attempt)
    else:
        _try_owner(trial, attempt)


def _try_owner(trial: _Trial, attempt: Attempt) -> None:
    arguments = _owners(trial, attempt)
    reply = trial.ask(trial.owner, arguments)
    if not reply.ok:
        trial.find(OWNER.name, attempt.label, f"is refused: {reply.text}")
    elif attempt.owner_sees and not _told(reply, trial.world.hidden_from(FOREIGN), arguments):
        trial.find(OWNER.name, attempt.label, f"sees nothing: {reply.text}")


def _try_bound_owner(trial: _Trial, attempt: Attempt) -> None:
    reply = trial.ask(trial.owner, _owners(trial, attempt))
    if reply.status != FORBIDDEN:
        trial.find(OWNER.name, attempt.label, f"gets {reply.status}, not {FORBIDDEN}: {reply.text[:200]}")


def _try_without_role(trial: _Trial, attempt: Attempt) -> None:
    reply = trial.ask(trial.owner, _owners(trial, attempt))
    if reply.ok or trial.row.role not in reply.text:
        trial.find(OWNER.name, attempt.label, f"is not asked for the role {trial.row.role}: {reply.text}")


def _told(reply: Reply, hidden: Iterable[str], arguments: Arguments) -> list[str]:
    asked = json.dumps(arguments, default=str)
    return [one for one in hidden if one in reply.text and one not in asked]


def _plain(reply: Reply, arguments: Arguments) -> str:
    """The answer without what the request named, longest first: an id may begin as another value does."""
    text = reply.text
    for value in sorted(map(str, _values(arguments)), key=len, reverse=True):
        text = text.replace(value, "...")
    return text


def _values(value: Any) -> Iterator[Any]:
    """What a request names, however deep within it."""
    if isinstance(value, str | int | float | None):
        yield value
        return
    for one in value.values() if isinstance(value, Mapping) else value:
        yield from _values(one)
