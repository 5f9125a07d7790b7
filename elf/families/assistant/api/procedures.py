"""How something is done: request and operation."""

from __future__ import annotations

from typing import Annotated, Final

from pydantic import AfterValidator, Field

from elf.api.bodies import NulDropped
from elf.api.operation import Operation
from elf.core.errors import ScopeDenied
from elf.families.assistant import model as m
from elf.families.assistant.api import fields as f
from elf.families.assistant.api.memories import AddedMemory
from elf.families.assistant.api.turn import MAX_MESSAGES, Message
from elf.families.assistant.rules.steps import MAX_STEP_CHARS, MOST_STEPS, plain_step

TAG: Final = "assistant: procedures"


def _step(text: str) -> str:
    step = plain_step(text)
    if not step:
        raise ValueError("must say what to do")
    if len(step) > MAX_STEP_CHARS:
        raise ValueError(f"must have at most {MAX_STEP_CHARS} characters")
    return step


StepGiven = Annotated[
    str,
    Field(min_length=1, max_length=4 * MAX_STEP_CHARS, json_schema_extra=f.SEEN),
    AfterValidator(f.seen),
    AfterValidator(_step),
    NulDropped(),
]


class AddProcedure(f.OfUser):
    """Steps to be kept, which are numbered. What is kept already, letter for letter, is not added again."""

    steps: (
        Annotated[
            list[StepGiven],
            Field(min_length=1, max_length=MOST_STEPS, description="What to do, in order: 160 characters each.",
                  examples=[["Build the wheel.", "Upload it."]]),
        ]
        | None
    ) = None  # fmt: skip
    messages: (
        Annotated[
            list[Message],
            Field(min_length=1, max_length=MAX_MESSAGES,
                  description="In the place of `steps`: what was said. The numbered lines of the last message that has "
                  "some are the steps."),
        ]
        | None
    ) = None  # fmt: skip
    text: (
        Annotated[f.TextGiven, Field(description="What the steps are for; left out, the first one stands.")]
        | None
    ) = None
    tags: f.TagsGiven = Field(default_factory=list)
    importance: f.Importance = m.DEFAULT_IMPORTANCE
    pinned: f.Pinned = False
    agent_id: f.AgentIdGiven | None = None
    run_id: f.RunIdGiven | None = None
    thread_id: f.ThreadIdGiven | None = None


ADD_PROCEDURE: Final = Operation(
    "add_assistant_procedure", "POST", "/v1/assistant/procedures", "Add how something is done", AddProcedure,
    AddedMemory, tag=TAG, text="any", errors=(ScopeDenied,),
)  # fmt: skip

PROCEDURES: Final[tuple[Operation, ...]] = (ADD_PROCEDURE,)
