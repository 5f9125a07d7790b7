"""Both fronts without their services: the operations and the documents made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from elf.api.operation import Operation
from elf.families.notes.api.admin_operations import ADMIN_OPERATIONS
from elf.families.notes.api.operations import OPERATIONS
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.outbox.admin_operations import JOB_OPERATIONS
from elf.web.admin import COLLECT_GARBAGE
from elf.web.openapi import ADMIN, PUBLIC, Document, openapi_document

OPERATORS = tuple(
    replace(operation, role=None)  # as long as nobody is asked who calls
    for operation in (COLLECT_GARBAGE, *ADMIN_OPERATIONS, *INDEX_OPERATIONS, *JOB_OPERATIONS)
)

FRONTS: dict[str, tuple[Sequence[Operation], Document]] = {
    "public": (OPERATIONS, openapi_document(OPERATIONS, PUBLIC)),
    "admin": (OPERATORS, openapi_document(OPERATORS, ADMIN)),
}
