"""What carries out the operations on the audit log."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Final

from elf.api.binding import refuse_bound_to_less
from elf.api.caller import Caller
from elf.api.cursor import BEFORE_THE_NEWEST, decode_cursor, encode_cursor
from elf.api.operation import Handler
from elf.audit import operations as o
from elf.audit.log import AuditRows, Wanted
from elf.identity.roles import ROLES

LISTING: Final = "audit"


def audit_handlers(rows: AuditRows) -> dict[str, Handler]:
    """Return what lists the audit log. A caller who is bound to less than a tenant gets ScopeDenied."""

    async def page(request: o.ListAudit, caller: Caller) -> o.AuditedCalls:
        refuse_bound_to_less(caller, "$.tenant_id")
        wanted = Wanted(
            request.tenant_id,
            request.caller,
            request.operation,
            request.subject,
            request.since,
            request.until,
        )
        of = LISTING, *(None if one is None else str(one) for one in wanted)
        start = BEFORE_THE_NEWEST if request.cursor is None else decode_cursor(request.cursor, *of)
        found = await rows.page(wanted, start, request.limit + 1)
        shown = found[: request.limit]
        more = len(found) > request.limit
        return o.AuditedCalls(
            items=[_item(row) for row in shown],
            next_cursor=encode_cursor(shown[-1]["called_at"], shown[-1]["call_id"], *of) if more else None,
        )

    return {o.LIST_AUDIT.name: page}


def _item(row: Mapping[str, Any]) -> o.AuditedCallItem:
    role = row["caller_role"]
    return o.AuditedCallItem(
        call_id=row["call_id"], called_at=row["called_at"], ended_at=row["ended_at"], request_id=row["request_id"],
        operation=row["operation"], user=row["caller_user"], client=row["caller_client"],
        role=None if role is None else ROLES[role], tenant_id=row["tenant_id"], subject=row["subject"],
        outcome=row["outcome"], status=row["status"], items=row["items"],
    )  # fmt: skip
