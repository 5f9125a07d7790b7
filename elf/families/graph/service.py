"""Carries out recalls, contexts and write-backs: who asks, of whose memory, and what is answered."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from anyio import to_thread

from elf.api.caller import Caller
from elf.api.operation import Handler, Operation
from elf.config.tables.graph import Recall as RecallRules
from elf.core.errors import Conflict, Unavailable
from elf.families.graph.api import recalling as r
from elf.families.graph.api import writing_back as w
from elf.families.graph.context import Context, Contexts, Occasion
from elf.families.graph.errors import GraphLivesElsewhere, NoSuchOrchestrator
from elf.families.graph.model import Source
from elf.families.graph.ownership import ConversationOwners
from elf.families.graph.places import Places, write_at
from elf.families.graph.recall.bundle import Bundle, bundle_of
from elf.families.graph.recall.finding import edges_around
from elf.families.graph.recall.legs import Where
from elf.families.graph.recall.recaller import Question, Recaller
from elf.families.graph.rules.captures import WriteBack, of_finding, of_message, of_outputs
from elf.families.graph.scope import actor_of, check_scope, viewer_of
from elf.families.graph.store.owner_locks import Owners
from elf.families.graph.store.statements import Viewer
from elf.families.graph.tallies import Tallies
from elf.families.graph.writeback import WrittenBack, prepare, write_back


class RecallService:
    """Recalls and contexts."""

    def __init__(
        self, places: Places, recaller: Recaller, contexts: Contexts, rules: RecallRules, tallies: Tallies
    ) -> None:
        self._places = places
        self._recaller = recaller
        self._contexts = contexts
        self._rules = rules
        self._tallies = tallies

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {r.RECALL: self.recall, r.CONTEXT: self.context}

    async def recall(self, request: r.Recall, caller: Caller) -> Bundle:
        """Find memories. Raises ScopeDenied for another orchestrator's, and Unavailable without the file."""
        await check_scope(self._places, request, caller)
        async with self._places.found(request.tenant_id, request.orchestrator_id) as place:
            seen = place.seen_by(viewer_of(caller))
            recalled = await self._recaller.recall(seen, self._question(request), edges_around)
        if "embedding" in recalled.degraded:
            self._tallies.fell_back("full_text")
        return bundle_of(recalled, explain=request.explain)

    async def context(self, request: r.Context, caller: Caller) -> Context:
        """Put a context together, whatever fails.

        Raises ScopeDenied for another orchestrator's, and GraphLivesElsewhere for one on another host.
        """
        await check_scope(self._places, request, caller)
        context = await self._context(request, viewer_of(caller))
        if context.status != "ok":
            self._tallies.fell_back("disabled" if context.status == "disabled" else "bulletin")
        return context

    async def _context(self, request: r.Context, viewer: Viewer | None) -> Context:
        occasion = Occasion(
            purpose=request.purpose,
            message_id=request.message_id or "",
            message=request.message or "",
            prompt=request.prompt or "",
            max_chars=request.max_chars,
            user=None if viewer is None else viewer.user,
        )
        try:
            async with self._places.found(request.tenant_id, request.orchestrator_id) as place:
                return await self._contexts.of(place.seen_by(viewer), occasion)
        except GraphLivesElsewhere:
            raise  # who asks is to go there
        except (NoSuchOrchestrator, Conflict) as error:  # such as for a tenant that has as many as it may
            return await self._contexts.without(None, occasion, error)
        except Unavailable as error:
            folders = await self._places.folders(request.tenant_id, request.orchestrator_id)
            return await self._contexts.without(folders, occasion, error)

    def _question(self, request: r.Recall) -> Question:
        rules = self._rules
        where = Where(
            statuses=request.statuses,
            types=request.types,
            conversation_ids=request.conversations,
            min_importance=request.min_importance,
        )
        return Question(
            query=request.query,
            where=where,
            top_n=rules.top_n if request.top_n is None else request.top_n,
            rrf_k=rules.rrf_k if request.rrf_k is None else request.rrf_k,
            top_k_text=rules.top_k_text if request.top_k_text is None else request.top_k_text,
            top_k_vector=rules.top_k_vector if request.top_k_vector is None else request.top_k_vector,
        )


class WriteBackService:
    """Write-backs. `embedding_version` is that of the vectors to be made, and `ring` wakes whoever makes them."""

    def __init__(
        self,
        places: Places,
        owners: ConversationOwners,
        *,
        embedding_version: str,
        ring: Callable[[], None],
    ) -> None:
        self._places = places
        self._owners = owners
        self._version = embedding_version
        self._ring = ring

    def handlers(self) -> Mapping[Operation, Handler]:
        """Return what carries out which operation."""
        return {w.TRANSCRIPT: self.transcript, w.OUTPUT: self.output, w.DIAGNOSTICS: self.diagnostics}

    async def transcript(self, request: w.Transcript, caller: Caller) -> WrittenBack:
        """Write a message of a channel back."""
        source = Source(
            source_type="channel_transcript", captured_by="system", conversation_id=request.conversation_id
        )
        asked = of_message(request.message_id, request.text, source, user=caller.named_user)
        return await self._write(request, caller, asked)

    async def output(self, request: w.WorkflowOutput, caller: Caller) -> WrittenBack:
        """Write the outputs of a step back."""
        source = Source(
            source_type="workflow_output",
            captured_by="system",
            conversation_id=request.conversation_id,
            workflow_run_id=request.workflow_run_id,
            step_id=request.step_id,
        )
        asked = of_outputs(
            request.workflow_run_id,
            request.step_id,
            request.attempt,
            request.outputs,
            source,
            user=caller.named_user,
        )
        return await self._write(request, caller, asked)

    async def diagnostics(self, request: w.Diagnostics, caller: Caller) -> WrittenBack:
        """Write a finding of diagnostics back. Raises NoSuchMemory where it follows from what there is not."""
        source = Source(
            source_type="diagnostics",
            captured_by="system",
            conversation_id=request.conversation_id,
            workflow_run_id=request.workflow_run_id,
            step_id=request.step_id,
        )
        asked = of_finding(
            request.finding_id, request.text, request.related_memory_ids, source, user=caller.named_user
        )
        return await self._write(request, caller, asked)

    async def _write(
        self, request: w.Transcript | w.WorkflowOutput | w.Diagnostics, caller: Caller, asked: WriteBack
    ) -> WrittenBack:
        await check_scope(self._places, request, caller)
        prepared = await to_thread.run_sync(prepare, asked)
        viewer = viewer_of(caller)
        conversation_id = None if viewer else request.conversation_id
        owner = await self._owners.of(request.tenant_id, conversation_id)
        answer = await write_at(
            self._places,
            request.tenant_id,
            request.orchestrator_id,
            lambda place: place.seen_by(viewer).write(
                lambda change: write_back(change, prepared, embedding_version=self._version, owner=owner),
                actor=actor_of(caller),
                owners=Owners.known(owner, request.conversation_id),
            ),
        )
        if answer.memories:
            self._ring()
        return answer
