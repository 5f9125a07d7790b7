"""Manifests: their exact fields, and that they are there wholly or not at all."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from elf.families.graph.extraction.candidate import Skipped
from elf.families.graph.ingest.folders import IngestFolders, open_folders
from elf.families.graph.ingest.manifests import Manifests, ProcessedManifest, Reason, RejectionManifest
from elf.families.graph.ingest.rejection import Rejection

REJECTED = RejectionManifest(
    status="rejected",
    source_path="/m/ingest/rejected/a.json",
    idempotency_key="ab",
    error=Reason.of(Rejection("invalid_shape", "$.x: is not a known field", fields=["$.x"])),
)


@pytest.fixture
def folders(tmp_path: Path) -> Iterator[IngestFolders]:
    with open_folders(str(tmp_path.resolve())) as opened:
        yield opened


@pytest.fixture
def ingest(tmp_path: Path) -> Path:
    return tmp_path.resolve() / "ingest"


def test_the_manifest_of_a_processed_file(folders: IngestFolders, ingest: Path) -> None:
    manifest = ProcessedManifest(
        status="processed",
        idempotency_key="ab",
        orchestrator_id="o",
        source_path="/m/ingest/processed/a.md",
        processed_at=datetime(2026, 1, 2, 3, 4, 5, tzinfo=UTC),
        memories_written=2,
        edges_written=1,
        memory_ids=["m1", "m2"],
        extractor="rules",
        skipped=[Skipped(7, "not found"), Skipped(None, "no quote")],
    )
    Manifests(folders).write("processed", "a.md", manifest)
    assert json.loads((ingest / "processed" / "a.md.processed.json").read_text()) == {
        "status": "processed",
        "idempotencyKey": "ab",
        "orchestratorId": "o",
        "sourcePath": "/m/ingest/processed/a.md",
        "processedAt": "2026-01-02T03:04:05Z",
        "memoriesWritten": 2,
        "edgesWritten": 1,
        "memoryIds": ["m1", "m2"],
        "extractor": "rules",
        "skipped": [{"start": 7, "reason": "not found"}, {"start": None, "reason": "no quote"}],
    }


def test_the_manifest_of_a_rejected_file(folders: IngestFolders, ingest: Path) -> None:
    Manifests(folders).write("rejected", "a.json", REJECTED)
    assert json.loads((ingest / "rejected" / "a.json.rejection.json").read_text()) == {
        "status": "rejected",
        "sourcePath": "/m/ingest/rejected/a.json",
        "idempotencyKey": "ab",
        "error": {"code": "invalid_shape", "message": "$.x: is not a known field", "fields": ["$.x"]},
    }
    assert Manifests(folders).read("rejected", "a.json") == REJECTED


@pytest.mark.parametrize("instead", ["nothing", "other", "link", "pipe", "folder"])
def test_what_is_no_manifest_is_not_taken_for_one(folders: IngestFolders, ingest: Path, instead: str) -> None:
    path = ingest / "rejected" / "a.json.rejection.json"
    if instead == "other":
        path.write_text('{"status": "rejected"}')
    elif instead == "link":
        Manifests(folders).write("rejected", "b.json", REJECTED)
        path.symlink_to("b.json.rejection.json")
    elif instead == "pipe":
        os.mkfifo(path)
    elif instead == "folder":
        path.mkdir()
    assert Manifests(folders).read("rejected", "a.json") is None


def test_a_manifest_takes_the_place_of_a_link_and_not_of_what_it_leads_to(
    folders: IngestFolders, ingest: Path
) -> None:
    outside = ingest.parent / "outside.json"
    outside.write_text("not yours")
    path = ingest / "rejected" / "a.json.rejection.json"
    path.symlink_to(outside)
    Manifests(folders).write("rejected", "a.json", REJECTED)
    assert not path.is_symlink()
    assert outside.read_text() == "not yours"


def test_a_full_disk_leaves_no_part_of_a_manifest(
    tmp_path: Path, ingest: Path, folders: IngestFolders
) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (64, hard))
    try:
        with pytest.raises(OSError, match="large") as caught:
            Manifests(folders).write("rejected", "a.json", REJECTED)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert caught.value.errno == errno.EFBIG
    assert list((ingest / "rejected").iterdir()) == []


def test_what_a_process_leaves_that_dies_while_it_writes_is_swept_away(
    tmp_path: Path, ingest: Path, folders: IngestFolders
) -> None:
    dying = f"""
import os, signal
from elf.families.graph.ingest import manifests
from elf.families.graph.ingest.folders import open_folders
manifests.os.fsync = lambda _: os.kill(os.getpid(), signal.SIGKILL)
from tests.unit.graph.test_ingest_manifests import REJECTED
with open_folders({str(tmp_path.resolve())!r}) as folders:
    manifests.Manifests(folders).write("rejected", "a.json", REJECTED)
"""
    subprocess.run([sys.executable, "-c", dying], check=False)
    (left,) = (ingest / "rejected").iterdir()
    assert left.name.startswith(".manifest-")
    (ingest / "rejected" / "a.json").write_text("mine")

    Manifests(folders).sweep()

    assert [path.name for path in (ingest / "rejected").iterdir()] == ["a.json"]
