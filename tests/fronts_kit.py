"""Both fronts without their services: the endpoints and the documents made from them."""

from __future__ import annotations

from typing import Any, cast

from elf.core.endpoint import Endpoint
from elf.families.notes.endpoints import (
    history_endpoints,
    note_admin_endpoints,
    note_endpoints,
    trace_endpoints,
)
from elf.web.admin import collect_endpoint
from elf.web.openapi import ADMIN, PUBLIC, Document, openapi_document


class Services:
    """Stands for every service; nothing here is ever called."""

    def __getattr__(self, name: str) -> Any:
        return self


def public() -> list[Endpoint]:
    some = cast("Any", Services())
    return [*note_endpoints(some, some, some, some), *history_endpoints(some), *trace_endpoints(some)]


def operators() -> list[Endpoint]:
    some = cast("Any", Services())
    return [collect_endpoint(some), *note_admin_endpoints(some, some, some, some)]


FRONTS: dict[str, tuple[list[Endpoint], Document]] = {
    "public": (public(), openapi_document(public(), PUBLIC)),
    "admin": (operators(), openapi_document(operators(), ADMIN)),
}
