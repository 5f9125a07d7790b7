"""Takes in what is dropped for a memory that is open, in the process that has its lock: a duty of the steward."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Final

import anyio
import structlog
from anyio import to_thread

from elf.core.clock import Clock
from elf.core.errors import Unavailable
from elf.families.graph.extraction.chat import TextExtractor
from elf.families.graph.ingest.ledger import Ledger
from elf.families.graph.ingest.pipeline import Pipeline
from elf.families.graph.ingest.reading import Home
from elf.families.graph.ingest.rest import REST_S, Rest
from elf.families.graph.ingest.settling import EndedFile
from elf.families.graph.orchestrators import Orchestrators, Residence
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.store.file import MemoryFile
from elf.families.graph.store.statements import OwnerKey
from elf.families.graph.tallies import Tallies

PATIENCE_S: Final = 4 * REST_S
"""How long whoever asks for a look waits at most for files that do not come to rest."""
BEGIN_S: Final = 1.0
"""How soon this process looks where it has the lock, or can have it."""
log = structlog.get_logger()


@dataclass(frozen=True, slots=True, kw_only=True)
class IngestRules:
    """How large a file may be, how much of its text is found, how often folders are looked at unasked, and of which
    version vectors are made.
    """

    max_bytes: int
    indexed_chars: int
    poll_s: float
    embedding_version: str


@dataclass(eq=False, slots=True)
class Ask:
    """What somebody wants who waits for a look, and what came of it."""

    ended: list[EndedFile] = field(default_factory=list)
    begun: anyio.Event = field(default_factory=anyio.Event)
    done: anyio.Event = field(default_factory=anyio.Event)
    patient_until: float = field(default_factory=lambda: anyio.current_time() + PATIENCE_S)


@dataclass(eq=False, slots=True)
class _Desk:
    """Who waits for a look at one folder, and what wakes whoever takes it."""

    rung: anyio.Event = field(default_factory=anyio.Event)
    asks: list[Ask] = field(default_factory=list)

    async def pause(self, seconds: float) -> None:
        """Wait until it rings, and no longer than so many seconds."""
        with anyio.move_on_after(seconds):
            await self.rung.wait()
        self.rung = anyio.Event()


class Ingestion:
    """Looks at the drop folders of the files that it is given, each for as long as it is let."""

    def __init__(
        self,
        orchestrators: Orchestrators,
        extractor: TextExtractor,
        clock: Clock,
        rules: IngestRules,
        tallies: Tallies | None = None,
        owners: ConversationOwners | None = None,
    ) -> None:
        self._orchestrators = orchestrators
        self._extractor = extractor
        self._clock = clock
        self._rules = rules
        self._tallies = tallies or Tallies()
        self._owners = owners
        self._desks: dict[OwnerKey, _Desk] = {}

    def ring(self, key: OwnerKey) -> None:
        """Have a folder looked at soon, if it is this process that does."""
        self._desk(key).rung.set()

    async def look_now(self, key: OwnerKey) -> Sequence[EndedFile] | None:
        """Return what became of the files that lie in a folder, of which the memory is open.

        None where another process looks there.
        """
        ask, desk = Ask(), self._desk(key)
        desk.asks.append(ask)
        desk.rung.set()
        try:
            with anyio.move_on_after(BEGIN_S):
                await ask.begun.wait()
            if not ask.begun.is_set():
                return None
            await ask.done.wait()
        finally:
            if ask in desk.asks:
                desk.asks.remove(ask)
        return ask.ended

    async def run(self, file: MemoryFile) -> None:
        """Look at the folder of a file when it rings, and from time to time.

        Raises a ServiceError when the file or the folder cannot be used.
        """
        pipeline = await self._pipeline(file)
        desk = self._desk(file.key)
        try:
            while True:
                await self._turn(pipeline, desk)
                await desk.pause(REST_S if pipeline.is_restless else self._rules.poll_s)
        finally:
            for ask in desk.asks:
                ask.done.set()

    async def _turn(self, pipeline: Pipeline, desk: _Desk) -> None:
        asks = list(desk.asks)
        for ask in asks:
            ask.begun.set()
        try:
            ended = await pipeline.look() if await pipeline.has_work() else []
        except OSError as error:
            raise Unavailable(f"the ingest folder cannot be used: {error.strerror}") from error
        for one in ended:
            self._tallies.ingested(one.status)
        for ask in asks:
            ask.ended += ended
            if not pipeline.is_restless or anyio.current_time() >= ask.patient_until:
                ask.done.set()
        desk.asks = [ask for ask in desk.asks if not ask.done.is_set()]

    def _desk(self, key: OwnerKey) -> _Desk:
        return self._desks.setdefault(key, _Desk())

    async def _pipeline(self, file: MemoryFile) -> Pipeline:
        residence = await self._orchestrators.residence(file.key)
        return Pipeline(
            home=await to_thread.run_sync(home_of, residence, str(file.layout.memory)),
            ledger=Ledger(file, embedding_version=self._rules.embedding_version, owners=self._owners),
            extractor=self._extractor,
            clock=self._clock,
            rest=Rest(),
            max_bytes=self._rules.max_bytes,
            indexed_chars=self._rules.indexed_chars,
        )


def home_of(residence: Residence, memory: str) -> Home:
    """Return whose files are taken in into a memory. Blocks."""
    workspaces = [str(workspace.resolve()) for workspace in residence.workspaces]
    return Home(orchestrator_id=residence.key.orchestrator_id, memory=memory, folders=[memory, *workspaces])
