"""What orchestrators write back of what they do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated

from elf.client.call import Call, post, reader
from elf.client.families.graph import results as r
from elf.client.families.graph.finding import ROOT
from elf.client.family import C_co, FamilyClient
from elf.client.method import method

Conversation = Annotated[str | None, "its conversation"]


class WritingBack(FamilyClient[C_co]):
    """What is written back a second time changes nothing: the message, the attempt or the finding is known.

    All raise ScopeDenied for another orchestrator's memory.
    """

    @method
    def write_transcript(
        self,
        message_id: Annotated[str, "the id of the message"],
        conversation_id: Annotated[str, "its conversation"],
        text: Annotated[str, "what was said"],
    ) -> Call[r.WrittenBack]:
        """Write a message of a channel back."""
        return self._written("transcript", message_id=message_id, conversation_id=conversation_id, text=text)

    @method
    def write_output(
        self,
        workflow_run_id: Annotated[str, "the run of the workflow"],
        step_id: Annotated[str, "the step"],
        outputs: Annotated[
            Mapping[str, object], "the outputs by name, as JSON; a name tells the kind, such as decision"
        ],
        *,
        attempt: Annotated[int, "which attempt at the step it is, from 1 (default: 1)"] = 1,
        conversation_id: Conversation = None,
    ) -> Call[r.WrittenBack]:
        """Write the outputs of a workflow's step back; a later attempt takes the place of an earlier one."""
        return self._written(
            "workflow_output", workflow_run_id=workflow_run_id, step_id=step_id, outputs=outputs,
            attempt=attempt, conversation_id=conversation_id,
        )  # fmt: skip

    @method
    def write_diagnostics(
        self,
        finding_id: Annotated[str, "the id of the finding"],
        text: Annotated[str, "what was found"],
        *,
        related_memory_ids: Annotated[Sequence[str], "what it follows from; may be repeated"] = (),
        conversation_id: Conversation = None,
        workflow_run_id: Annotated[str | None, "its run of a workflow"] = None,
        step_id: Annotated[str | None, "its step"] = None,
    ) -> Call[r.WrittenBack]:
        """Write a finding of diagnostics back. Raises NotFound where it follows from a memory that there is not."""
        return self._written(
            "diagnostics", finding_id=finding_id, text=text, related_memory_ids=list(related_memory_ids),
            conversation_id=conversation_id, workflow_run_id=workflow_run_id, step_id=step_id,
        )  # fmt: skip

    def _written(self, what: str, **said: object) -> Call[r.WrittenBack]:
        return post(f"{ROOT}/writeback/{what}", {**self.owner, **said}, reader(r.WrittenBack))
