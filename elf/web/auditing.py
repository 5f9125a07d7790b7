"""Keeps account of the requests for audited operations: each is told once, however it ends."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import aclosing, contextmanager

from pydantic import BaseModel

from elf.api.audit import Audit, AuditedCall, CallEnd
from elf.api.caller import Caller
from elf.api.operation import Events
from elf.web.failures import as_service_error


class RequestAudit:
    """What is known of a request by now; without an `audit` nobody is told."""

    def __init__(self, audit: Audit | None = None, given: Mapping[str, str] | None = None) -> None:
        self._audit = audit
        self._given = given or {}
        self.caller: Caller | None = None
        self.request: BaseModel | None = None
        self.is_followed = False

    def ended(self, end: CallEnd) -> None:
        """Tell what became of it; what comes later is not told."""
        audit, self._audit = self._audit, None
        if audit is not None:
            audit(AuditedCall(caller=self.caller, request=self.request, given=self._given, end=end))

    @contextmanager
    def told(self) -> Iterator[None]:
        """Tell that what is done within was done, or that the client left; failures are told elsewhere."""
        try:
            yield
        except Exception:
            raise
        except BaseException:
            self.ended("left")
            raise
        if not self.is_followed:
            self.ended("done")

    def following(self, events: Events) -> Events:
        """Return events whose end is that of the request."""
        self.is_followed = True
        return self._followed(events)

    async def _followed(self, events: Events) -> Events:
        async with aclosing(events):
            try:
                async for event in events:
                    yield event
            except Exception as error:
                self.ended(as_service_error(error))
                raise
            except BaseException:
                self.ended("left")
                raise
        self.ended("done")
