"""The answer of an agent while it is made, which is recorded over gRPC and may be cancelled here."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.core.errors import Conflict, Forbidden, NotFound
from elf.families.conversations.api import fields as f
from elf.families.conversations.api.conversations import ONE, TAG
from elf.families.conversations.errors import STYLE

CANCEL_RESPONSE: Final = Operation(
    "cancel_response", "DELETE", f"{ONE}/response", "Stop the answer that is being made", f.OneConversation, None,
    tag=TAG, errors=(Forbidden, NotFound, Conflict), text="any", status=200, needs_user=True, is_slow=True,
    error_style=STYLE,
)  # fmt: skip

RECORDING: Final = (CANCEL_RESPONSE,)
