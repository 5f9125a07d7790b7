"""The log of what operators ask for: a line for each call, also for one that is refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Final

import structlog

from elf.api.audit import AuditedCall, CallEnd
from elf.families.conversations.errors import error_body
from elf.identity.roles import highest

CONVERSATION: Final = "conversationId"
JUSTIFICATION: Final = "justification"
MAX_GIVEN_CHARS: Final = 200
_TEXTS: Final = ("query",)
"""Parameters of which the log has the length only: they may quote what somebody said."""

log = structlog.get_logger()


@dataclass(frozen=True, slots=True)
class AdminAudit:
    """Tells calls of an action; the line has the request id, as every line of a request."""

    action: str

    def __call__(self, call: AuditedCall) -> None:
        values = _values(call)
        caller = call.caller
        log.info(
            "admin_audit",
            action=self.action,
            user=None if caller is None else caller.user,
            client=None if caller is None else caller.client,
            role=None if caller is None else highest(caller.roles),
            target=values.pop(CONVERSATION, None),
            justification=values.pop(JUSTIFICATION, None),
            parameters=values,
            outcome=_outcome(call.end),
        )


def _values(call: AuditedCall) -> dict[str, Any]:
    """Return what was asked for: what the address says, where the request was not understood."""
    if call.request is None:
        values: Mapping[str, Any] = {name: text[:MAX_GIVEN_CHARS] for name, text in call.given.items()}
    else:
        values = call.request.model_dump(mode="json", exclude_none=True)
    return {
        **{name: value for name, value in values.items() if name not in _TEXTS},
        **{f"{name}_chars": len(values[name]) for name in _TEXTS if name in values},
    }


def _outcome(end: CallEnd) -> str:
    """Return done, left, or the code of the failure as clients know it."""
    return end if isinstance(end, str) else error_body(end).code
