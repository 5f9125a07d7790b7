"""What the audit log keeps of a request: each field of an audited operation names a subject or is left out."""

from __future__ import annotations

from uuid import UUID

from actors.families import FAMILIES
from elf.api.audit import SUBJECT_FIELDS, shown_name, subject_of
from elf.api.operation import Operation
from elf.audit.operations import LIST_AUDIT
from elf.families.conversations.api.admin import ERASE, LIST
from elf.indexing.admin_operations import INDEX_OPERATIONS
from elf.outbox.admin_operations import JOB_OPERATIONS, RETRY_JOBS
from elf.web.admin import COLLECT_GARBAGE

AUDITED: tuple[Operation, ...] = (
    COLLECT_GARBAGE,
    LIST_AUDIT,
    *INDEX_OPERATIONS,
    *JOB_OPERATIONS,
    *(one for family in FAMILIES for one in family.admin_operations),
    *(one for family in FAMILIES for one in family.operations if one.is_audited),
)
NOT_SUBJECTS = {
    # Which page, and how much of it.
    "limit", "cursor", "after", "afterCursor", "examples", "max_entries", "mode", "forks", "channel",
    "groupByConversation", "includeEntry",
    # Filters and rules that name nobody.
    "op", "state", "operation", "since", "until", "includeDeleted", "onlyDeleted", "deletedAfter", "deletedBefore",
    "retentionPeriod", "resourceTypes", "searchType", "dry_run", "shared",
    # Texts, and what may hold some.
    "query", "justification", "items", "texts", "receipt", "source_path", "lost_home",
}  # fmt: skip


def test_each_field_of_an_audited_operation_names_a_subject_or_is_left_out_on_purpose() -> None:
    fields = {name for operation in AUDITED for name in operation.request.model_fields} - {"tenant_id"}
    known = SUBJECT_FIELDS.keys() | NOT_SUBJECTS
    assert fields - known == set()  # decide on a new one: never a text
    assert SUBJECT_FIELDS.keys() - fields == set()


def test_the_operations_of_conversations_for_operators_are_audited() -> None:
    names = {one.name for family in FAMILIES for one in family.operations if one.is_audited}
    assert names == {one.name for family in FAMILIES for one in family.operations if "/v1/admin/" in one.path}
    assert len(names) == 10


def test_a_subject_has_one_name_for_a_field_in_all_families() -> None:
    assert subject_of(LIST.request(userId="ana", justification="why", mode="all"), {}) == {"user_id": "ana"}
    assert subject_of(ERASE.request(what="user", name="ana"), {}) == {"what": "user", "name": "ana"}
    ids = [UUID(int=1), UUID(int=2)]
    asked = RETRY_JOBS.request(queue="indexing", ids=ids, tenant_id="acme")
    assert subject_of(asked, {}) == {"queue": "indexing", "ids": [str(one) for one in ids]}


def test_names_that_cannot_be_stored_or_hold_a_credential_are_shown_otherwise() -> None:
    assert shown_name("an\0a \ud800") == "ana ?"
    assert shown_name("ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8") == "[REDACTED:github_token]"
