"""Audits requests: each call of an audited operation is recorded once, however it ends, before its answer is sent."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Mapping
from contextlib import aclosing
from datetime import UTC, datetime
from functools import cached_property
from typing import Final
from uuid import UUID, uuid4

import anyio
import structlog
from pydantic import BaseModel

from elf.api.audit import (
    AuditedCall,
    AuditEntry,
    AuditLog,
    AuditOutcome,
    CallEnd,
    is_like_an_id,
    shown_name,
    subject_of,
)
from elf.api.caller import DEFAULT_TENANT, Caller
from elf.api.operation import Answer, Events, Operation, Outcome, Stream
from elf.core.errors import ServiceError, Unavailable
from elf.identity.roles import highest
from elf.web.failures import as_service_error

LONGEST_WAIT_S: Final = 2.0
"""How long a call waits for its row."""
CLIENT_LEFT: Final = AuditOutcome("left", None, None)

log = structlog.get_logger()


class AuditUnavailable(Unavailable):
    """What changes or exports something is not done while the audit log cannot be written."""


class RequestAudit:
    """What is known of a request by now. Without an operation, nothing is audited."""

    def __init__(
        self,
        operation: Operation | None = None,
        audit_log: AuditLog | None = None,
        *,
        request_id: str = "",
        given: Mapping[str, str] | None = None,
    ) -> None:
        self._operation = operation
        self._log = audit_log if operation is not None and operation.is_audited else None
        self._given = given or {}
        self._request_id = request_id
        self._called_at = datetime.now(UTC)
        self._has_begun = False
        self._has_ended = operation is None
        self.caller: Caller | None = None
        self.request: BaseModel | None = None
        self.items: int | None = None
        self.is_followed = False

    async def begin(self) -> None:
        """Record that a call begins which changes or exports something. Raises AuditUnavailable when that cannot be."""
        operation = self._operation
        if self._log is None or operation is None or not (operation.changes or isinstance(operation, Stream)):
            return
        try:
            with anyio.fail_after(LONGEST_WAIT_S):
                await self._log.begin(self._entry)
        except (ServiceError, TimeoutError) as error:
            self._warn(error)
            raise AuditUnavailable(
                "the audit log cannot be written, so nothing was done; try again later"
            ) from None
        self._has_begun = True

    async def done(self, answer: Outcome) -> None:
        """Take note of what the handler returned. Who was erased is erased from the audit log, too.

        Raises ServiceError when that cannot be: then the same request, sent again, erases them.
        """
        operation = self._operation
        if self._log is None or operation is None:
            return
        if operation.erases is not None and self.request is not None and self.caller is not None:
            erased = operation.erases(self.request, self.caller)
            if erased is not None:
                await self._log.pseudonymize(erased)
        self.items = items_of(operation, answer)

    async def ended(self, end: CallEnd) -> None:
        """Record what became of it; what comes later is not recorded. It cannot be cancelled, and waits no longer than
        LONGEST_WAIT_S.
        """
        if self._has_ended:
            return
        self._has_ended = True
        assert self._operation is not None, "without one it has ended"
        if self._operation.audit is not None:
            self._operation.audit(
                AuditedCall(caller=self.caller, request=self.request, given=self._given, end=end)
            )
        if self._log is None:
            return
        try:
            with anyio.fail_after(LONGEST_WAIT_S, shield=True):
                await self._log.end(self._entry, self._outcome(end), has_begun=self._has_begun)
        except (ServiceError, TimeoutError) as error:
            self._warn(error)

    def following(self, events: Events) -> Events:
        """Return events whose end is that of the request."""
        self.is_followed = True
        if isinstance(self._operation, Stream):
            self.items = 0
        return self._followed(events)

    async def _followed(self, events: Events) -> Events:
        async with aclosing(events):
            try:
                async for event in events:
                    if self.items is not None:
                        self.items += 1
                    yield event
            except Exception as error:
                await self.ended(as_service_error(error))
                raise
            except BaseException:
                await self.ended("left")
                raise
        await self.ended("done")

    @cached_property
    def _entry(self) -> AuditEntry:
        """The row's beginning: what is known when it is first written."""
        caller, operation = self.caller, self._operation
        assert operation is not None, "without one there is no row"
        return AuditEntry(
            call_id=uuid4(),
            called_at=self._called_at,
            request_id=UUID(self._request_id),
            operation=operation.name,
            user=None if caller is None or caller.user is None else shown_name(caller.user),
            client=None if caller is None or caller.client is None else shown_name(caller.client),
            role=None if caller is None else highest(caller.roles),
            tenant_id=self._tenant(operation),
            subject=subject_of(self.request, self._given),
        )

    def _tenant(self, operation: Operation) -> str | None:
        bound = None if self.caller is None else self.caller.bound.get("tenant_id")
        if bound is not None:
            return bound
        if operation.needs_user:  # what is done for a user who is bound to no tenant is of this one
            return DEFAULT_TENANT
        named = getattr(self.request, "tenant_id", None) if self.request else self._given.get("tenant_id")
        return shown_name(named) if isinstance(named, str) and is_like_an_id(named) else None

    def _outcome(self, end: CallEnd) -> AuditOutcome:
        if end == "left":
            return CLIENT_LEFT._replace(items=self.items)
        if isinstance(end, ServiceError):
            return AuditOutcome(end.error_code, end.status, self.items)
        status = 200 if self._operation is None else self._operation.status
        return AuditOutcome("done", status, self.items)

    def _warn(self, error: Exception) -> None:
        operation = "" if self._operation is None else self._operation.name
        log.warning("audit_unwritten", operation=operation, error=type(error).__name__)


def items_of(operation: Operation, answer: Outcome) -> int | None:
    """Return how many items an answer has, or says that were changed; None of a stream, whose events are counted."""
    if isinstance(answer, AsyncGenerator):
        return None
    if answer is None:
        return 1
    if operation.counted:
        return sum(_count(getattr(answer, name)) for name in operation.counted)
    return _listed(answer)


def _listed(answer: Answer) -> int:
    listed = next(
        (found for name in ("items", "data") if isinstance(found := getattr(answer, name, None), list)), None
    )
    return 1 if listed is None else len(listed)


def _count(value: object) -> int:
    match value:
        case int():
            return value
        case Mapping():
            return sum(map(_count, value.values()))
        case list() | tuple():
            return len(value)
    return 0
