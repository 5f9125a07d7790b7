"""What holds a family of memory together: its manifest, and what it brings into a process."""

from __future__ import annotations

from collections import Counter
from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from anyio.abc import TaskStatus

from elf.api.operation import Handler, Operation
from elf.api.path_policy import PathPolicy
from elf.api.rpc import Servicer
from elf.api.tool import Tool
from elf.config.model import Config
from elf.config.table import Table
from elf.core.errors import StartupError
from elf.core.memory_spans import MemorySpan
from elf.db.queries import sql_folder

if TYPE_CHECKING:  # a front that only shows what there is loads none of it
    from elf.db.garbage import GarbageStep
    from elf.ground import Ground
    from elf.indexing.indexed import IndexedCorpus
    from elf.offers import (
        Items,
        Offers,
        OwnConversations,
        Recall,
        Redaction,
        Remains,
        Remember,
        Subjects,
        Transcripts,
    )
    from elf.outbox.chores import Chore
    from elf.outbox.given_up import OperatorJobs
    from elf.outbox.leased import LeasedOutbox
    from elf.outbox.queue import Queue
    from elf.providers.local.answers import LocalAnswer

Labels: TypeAlias = tuple[str, ...]


class Instructions(Protocol):
    """Says what a model is told before it sees the tools.

    `fixed` are the fields of requests that it does not choose, `defaults` the values of those that it may leave out.
    """

    def __call__(self, *, fixed: Mapping[str, str], defaults: Mapping[str, str]) -> str: ...


class Compacts(Protocol):
    """Rewrites what a family keeps beside the database, so that nothing that was deleted is in it any more.

    It is given a connection to the database, returns how many files it has rewritten, and raises StartupError.
    """

    async def __call__(self, config: Config, connection: Any) -> int: ...


class Owner(Protocol):
    """Something of a family's own that runs for as long as the process: an actor, restarted when it fails.

    It calls `task_status.started()` once when it is ready, works until it is cancelled, and may be run again.
    """

    @property
    def name(self) -> str: ...

    async def run(self, *, task_status: TaskStatus[None]) -> None: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Gauge:
    """A metric that is read off the process whenever somebody asks: a value for each combination of `labels`."""

    name: str
    about: str
    labels: Labels = ()
    read: Callable[[], Mapping[Labels, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class Total:
    """A metric that only grows for as long as the process runs, and is read as a Gauge is."""

    name: str
    about: str
    labels: Labels = ()
    read: Callable[[], Mapping[Labels, float]]


@dataclass(frozen=True, slots=True, kw_only=True)
class StoredGauge:
    """A metric that only the database knows. `read` returns None when it cannot be had in time, and never raises."""

    name: str
    about: str
    labels: Labels = ()
    read: Callable[[], Awaitable[Mapping[Labels, float] | None]]


def _nothing() -> Sequence[str]:
    return ()


def _no_answers() -> Sequence[LocalAnswer]:
    return ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Opened:
    """A family at work in one process; each part is there where the process needs it.

    handlers: by its name, what carries out each operation of the fronts that this process has. corpora: what is in the
    vector index; each is kept, compared and rebuilt with the others. outboxes: by queue, those whose state is shown,
    and whose jobs operators retry or discard. jobs: by queue, others of which they do so. queues: leased work that is
    done here. garbage: what outlives its time. chores: what is done from time to time, once over all processes.
    owners: what else runs. grpc: its services, where gRPC is served. gauges, totals, stored_gauges: its metrics.
    warnings: what an operator has to know at this moment. needed_to_read: the tables without which nothing of it can
    be read. recall, items, subjects, remember, transcripts, redaction, own_conversations, remains: what it offers
    to whoever stands above all families.
    """

    handlers: Mapping[str, Handler] = field(default_factory=dict)
    corpora: Sequence[IndexedCorpus] = ()
    outboxes: Mapping[str, LeasedOutbox] = field(default_factory=dict)
    jobs: Mapping[str, OperatorJobs] = field(default_factory=dict)
    queues: Sequence[Queue] = ()
    garbage: Sequence[GarbageStep] = ()
    chores: Sequence[Chore] = ()
    owners: Sequence[Owner] = ()
    grpc: Sequence[Servicer] = ()
    gauges: Sequence[Gauge] = ()
    totals: Sequence[Total] = ()
    stored_gauges: Sequence[StoredGauge] = ()
    warnings: Callable[[], Sequence[str]] = _nothing
    needed_to_read: Sequence[str] = ()
    recall: Recall | None = None
    items: Items | None = None
    subjects: Subjects | None = None
    remember: Remember | None = None
    transcripts: Transcripts | None = None
    redaction: Redaction | None = None
    own_conversations: OwnConversations | None = None
    remains: Remains | None = None

    def offers(self) -> Offers:
        """Return what it offers to whoever stands above all families."""
        from elf.offers import Offers

        return Offers(
            recall=self.recall,
            items=self.items,
            subjects=self.subjects,
            remember=self.remember,
            transcripts=self.transcripts,
            redaction=self.redaction,
            own_conversations=self.own_conversations,
            remains=self.remains,
            corpora=self.corpora,
        )


def together(rooms: Sequence[Opened]) -> Opened:
    """Return what the parts of a family bring, as one. Of what it offers one part has each."""
    return Opened(
        handlers={name: handler for room in rooms for name, handler in room.handlers.items()},
        corpora=[one for room in rooms for one in room.corpora],
        outboxes={name: outbox for room in rooms for name, outbox in room.outboxes.items()},
        jobs={name: jobs for room in rooms for name, jobs in room.jobs.items()},
        queues=[one for room in rooms for one in room.queues],
        garbage=[one for room in rooms for one in room.garbage],
        chores=[one for room in rooms for one in room.chores],
        owners=[one for room in rooms for one in room.owners],
        grpc=[one for room in rooms for one in room.grpc],
        gauges=[one for room in rooms for one in room.gauges],
        totals=[one for room in rooms for one in room.totals],
        stored_gauges=[one for room in rooms for one in room.stored_gauges],
        warnings=lambda: [warning for room in rooms for warning in room.warnings()],
        needed_to_read=[one for room in rooms for one in room.needed_to_read],
        recall=next((room.recall for room in rooms if room.recall is not None), None),
        items=next((room.items for room in rooms if room.items is not None), None),
        subjects=next((room.subjects for room in rooms if room.subjects is not None), None),
        remember=next((room.remember for room in rooms if room.remember is not None), None),
        transcripts=next((room.transcripts for room in rooms if room.transcripts is not None), None),
        redaction=next((room.redaction for room in rooms if room.redaction is not None), None),
        own_conversations=next(
            (room.own_conversations for room in rooms if room.own_conversations is not None), None
        ),
        remains=next((room.remains for room in rooms if room.remains is not None), None),
    )


def _as_it_is(family: Family, _: Config) -> Family:
    return family


@dataclass(frozen=True, slots=True, kw_only=True)
class Family:
    """A family of memory, as its fronts see it; only `open` does any of it, and imports what does.

    `name` is that of its folder in elf/families, and of its config table: where it has a `table`, it is on in a process
    whose config file has one, and always on otherwise. `sql` is the folder with the steps of its schema, by default the
    one of its name in sql. Its `operations` are served to everybody, `admin_operations` on the admin address only; each
    is carried out by the handler of its name. `tools` are what models are offered, at the path `mcp`, which is
    /mcp/<name> by default. `paths` are those that it owns whole, and how it answers there. `spans` are how operations
    are called in traces. `local_answers` returns what answers by rules where the config has no language model.
    `fit` returns the family as a config has it, such as with operations of larger bounds. `compact` rewrites what it
    keeps beside the database while no service runs.
    """

    name: str
    operations: Sequence[Operation]
    admin_operations: Sequence[Operation] = ()
    tools: Sequence[Tool] = ()
    about: Instructions
    open: Callable[[Ground], Opened]
    spans: Mapping[str, MemorySpan] = field(default_factory=dict)
    local_answers: Callable[[], Sequence[LocalAnswer]] = _no_answers
    table: type[Table] | None = None
    sql: Path | None = None
    mcp: str = ""
    paths: Sequence[PathPolicy] = ()
    fit: Callable[[Family, Config], Family] = _as_it_is
    compact: Compacts | None = None

    @property
    def mcp_path(self) -> str:
        """The path at which its tools are."""
        return self.mcp or f"/mcp/{self.name}"

    @property
    def sql_folder(self) -> Path:
        """The folder with the steps of its schema."""
        return self.sql or sql_folder() / self.name


def families_on(families: Iterable[Family], config: Config) -> tuple[Family, ...]:
    """Return those of the families that are on by a config, as it has them."""
    return tuple(
        family.fit(family, config)
        for family in families
        if family.table is None or getattr(config, family.name, None) is not None
    )


def tables_of(families: Iterable[Family]) -> Mapping[str, type[Table]]:
    """Return the config tables of families by name."""
    return {family.name: family.table for family in families if family.table is not None}


def local_answers_of(families: Iterable[Family]) -> list[LocalAnswer]:
    """Return what answers by rules where the config has no language model, in the order of the families."""
    return [answer for family in families for answer in family.local_answers()]


def refuse_doubles(families: Sequence[Family]) -> None:
    """Raise StartupError when two things that must be told apart have one name, or one way in."""
    operations = [one for family in families for one in (*family.operations, *family.admin_operations)]
    tools = [(family.mcp_path, tool.name) for family in families for tool in family.tools]
    for what, names in (
        ("families", [family.name for family in families]),
        ("operations", [operation.name for operation in operations]),
        ("operations", [f"{operation.method} {_shape(operation)}" for operation in operations]),
        ("tools", [f"{name} at {path}" for path, name in tools]),
    ):
        if doubled := [name for name, count in Counter(names).items() if count > 1]:
            raise StartupError(f"two {what} are called {doubled[0]}")


def _shape(operation: Operation) -> str:
    """Return a path without the names of its parameters, which no request tells."""
    path = operation.path
    for name in operation.path_parameters:
        path = path.replace(f"{{{name}}}", "{}")
    return path
