"""What an agent's model is told of a conversation: request, answer and operation."""

from __future__ import annotations

from typing import Annotated, Final, Literal

from pydantic import Field

from elf.api.bodies import Response
from elf.api.operation import Operation
from elf.core.errors import Forbidden, NotFound
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import ONE, TAG
from elf.families.conversations.api.entries import Entry
from elf.families.conversations.errors import STYLE

DEFAULT_CHARS: Final = 40_000
MOST_CHARS: Final = 1_000_000


class ReadContext(f.OneConversation):
    """Of which conversation, and how much of it."""

    maxChars: Annotated[
        int,
        Field(
            ge=1,
            le=MOST_CHARS,
            description="How many characters the contents may have together, as JSON. Whole entries come, the newest "
            "of them always.",
        ),
    ] = DEFAULT_CHARS


class Context(Response):
    """What the next call of an agent's model needs. What it does not have is left out."""

    source: Literal["memory", "history"] = Field(
        description="memory: what the calling client remembers. history: what was said, for a client that remembers "
        "nothing of this conversation, and without a client."
    )
    epoch: int | None = Field(
        default=None, description="Of a memory, its latest epoch: these entries are of it."
    )
    entries: list[Entry] = Field(description="Oldest first, up to the newest there is.")
    truncated: bool = Field(description="Whether older ones did not fit.")


CONTEXT: Final = Operation(
    "read_conversation_context", "GET", f"{ONE}/context", "Read what an agent's next call needs of it", ReadContext,
    Context, tag=TAG, errors=(Forbidden, NotFound), text="any", needs_user=True, error_style=STYLE,
)  # fmt: skip

CONTEXTS: Final = (CONTEXT,)
