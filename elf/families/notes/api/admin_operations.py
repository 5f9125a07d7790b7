"""What operators can ask of the notes family; it is served on the admin address only."""

from __future__ import annotations

from typing import Final

from elf.api.operation import Operation
from elf.families.notes.api import admin_requests as r
from elf.families.notes.api import audit_requests as a
from elf.identity.roles import AUDITOR

INGEST_DECISIONS: Final = Operation(
    "ingest_decisions", "GET", "/v1/admin/ingest_decisions", "Read what became of incoming notes, newest first",
    a.DecisionsRequest, a.DecisionsResponse, tag="audit", role=AUDITOR,
)  # fmt: skip
REBUILD: Final = Operation(
    "rebuild_qdrant", "POST", "/v1/admin/rebuild_qdrant", "Write the index anew from the vectors in Postgres",
    r.RebuildRequest, r.RebuildResponse, tag="index", counted=("rebuilt_count", "removed_count"),
)  # fmt: skip
REBUILD_PROGRESS: Final = Operation(
    "rebuild_progress", "GET", "/v1/admin/rebuild_qdrant", "Say how far the rebuild of the index is",
    r.RebuildProgressRequest, r.RebuildProgress, tag="index",
)  # fmt: skip
INDEX_DRIFT: Final = Operation(
    "index_drift", "GET", "/v1/admin/index_drift", "Compare the index with Postgres",
    r.DriftRequest, r.DriftResponse, tag="index", role=AUDITOR,
)  # fmt: skip
INDEX_REPAIR: Final = Operation(
    "index_repair", "POST", "/v1/admin/index_repair", "Mend what differs between the index and Postgres",
    r.RepairRequest, r.RepairResponse, tag="index", counted=("jobs",),
)  # fmt: skip
COUNT_FORGETTABLE: Final = Operation(
    "count_forgettable", "GET", "/v1/admin/forget", "Say how many notes would be forgotten",
    r.ForgetRequest, r.ForgetCount, tag="notes", role=AUDITOR,
)  # fmt: skip
FORGET_NOTES: Final = Operation(
    "forget_notes", "POST", "/v1/admin/forget", "Delete the notes of a project, or of one agent in it",
    r.ForgetRequest, r.ForgetResponse, tag="notes", counted=("deleted",),
)  # fmt: skip
OVERVIEW: Final = Operation(
    "overview", "GET", "/v1/admin/overview", "Say how many notes there are, what waits, and the disk it takes",
    r.OverviewRequest, r.Overview, tag="notes", role=AUDITOR,
)  # fmt: skip

ADMIN_OPERATIONS: Final = (
    INGEST_DECISIONS,
    REBUILD,
    REBUILD_PROGRESS,
    INDEX_DRIFT,
    INDEX_REPAIR,
    COUNT_FORGETTABLE,
    FORGET_NOTES,
    OVERVIEW,
)
